"""What admins decide in Slack: rules, settings, and what is said about them. Knows no Slack."""
