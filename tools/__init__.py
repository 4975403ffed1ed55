"""The tools an agent may use, and the workspace they are held in."""
