"""The form of a signed statement: DSSE's envelope in the bundle that cosign verifies."""

import base64
import hashlib
import json

TYPE = "application/vnd.in-toto+json"


def signed_bytes(payload: bytes) -> bytes:
    """Return what a signature of the payload is over."""
    return b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)


def bundle(payload: bytes, signature: bytes, public_key: bytes) -> bytes:
    """Return the file that holds the payload and its signature. The public key, in DER, is named by its digest."""
    content = {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": {"hint": _text(hashlib.sha256(public_key).digest())}},
        "dsseEnvelope": {"payload": _text(payload), "payloadType": TYPE, "signatures": [{"sig": _text(signature)}]},
    }
    return json.dumps(content).encode()


def parts(content: bytes) -> tuple[bytes, bytes]:
    """Return payload and signature of a bundle."""
    envelope = json.loads(content)["dsseEnvelope"]
    return base64.b64decode(envelope["payload"]), base64.b64decode(envelope["signatures"][0]["sig"])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
