"""All attacks, in the order of the page."""

from . import attack_arrow, attack_buckets, attack_commands, attack_files, attack_grpc, attack_json, attack_models, attack_public
from .trial import Case


def attacks() -> list[Case]:
    parts = [attack_grpc, attack_arrow, attack_json, attack_public, attack_models, attack_files, attack_buckets, attack_commands]
    return [case for part in parts for case in part.attacks()]
