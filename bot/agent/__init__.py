"""The agent: what happens in one thread, without Slack, SQL, HTTP or any SDK."""
