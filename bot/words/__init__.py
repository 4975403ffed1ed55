"""Every sentence that people or models read, by subject: what happened, what to do.

Whoever says one imports `words`, whichever module of this package it stands in.
"""
# ruff: noqa: F403 - a new sentence is one function, named in no second place

from bot.words.access import *
from bot.words.asking import *
from bot.words.audit import *
from bot.words.budget import *
from bot.words.commands import *
from bot.words.doctor import *
from bot.words.home import *
from bot.words.host import *
from bot.words.model import *
from bot.words.rules import *
from bot.words.runs import *
from bot.words.slack import *
from bot.words.starting import *
from bot.words.turns import *
