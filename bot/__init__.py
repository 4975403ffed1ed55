"""Treadle: a self-hosted agent for Slack threads."""
