"""Everything that knows Slack: intake, delivery, and how things look there."""
