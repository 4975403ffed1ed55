"""The model behind a chat-completions endpoint, through the OpenAI client."""

from bot.model.chat import ChatModel as ChatModel
from bot.model.endpoint import RETRIES as RETRIES
from bot.model.endpoint import Endpoint as Endpoint
from bot.model.knowledge import Knowledge as Knowledge
from bot.model.knowledge import Remembered as Remembered
