"""Stand-ins for what is outside the product: a model endpoint, a bot to run."""
