"""Texts from elsewhere, made fit for a terminal."""


def printable(text: str) -> str:
    """Return a text without characters that a terminal would obey; a provider may have sent them."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
