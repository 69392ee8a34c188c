from .trial import Case


def attacks() -> list[Case]:
    return []
