"""How a conversation is written for a model, one small module a dialect."""
