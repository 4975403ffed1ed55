"""Chaos: a real Treadle that is killed, cut off and lied to, and a checker that reads what is left.

`plan` rolls the dice, `people` and `model` play their parts, `storm` breaks things, `deployment`
starts and kills processes, `gather` collects what is left, and `checker`, which knows none of them,
judges it. `python -m tests.chaos` runs it for as long as one likes.
"""
