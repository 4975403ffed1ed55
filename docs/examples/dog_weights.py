"""A tool of one's own: put this file beside treadle.toml and name it there.

[tools]
modules = ["dog_weights.py"]
"""

from __future__ import annotations

from tools.base import tool

POUNDS = {"border collie": 37, "scottish terrier": 20, "toy poodle": 7}
ANY_DOG = 50


@tool()
def average_dog_weight(breed: str) -> str:
    """Say what dogs of a breed weigh on average, in pounds.

    Args:
        breed: the name of the breed, for example Border Collie
    """
    name = " ".join(breed.split())
    pounds = POUNDS.get(name.removesuffix("s").casefold())
    if pounds is None:
        return f"Dogs average {ANY_DOG} lbs"
    return f"{name.removesuffix('s').title()}s average {pounds} lbs"
