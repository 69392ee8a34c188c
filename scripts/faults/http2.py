"""As much of HTTP/2 as it takes to send what no client library sends."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_HEADERS = 4
WINDOW = 65_535  # bytes of data that a connection may send before the server grants more


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


def literal(text: str) -> bytes:
    """A string of HPACK, not packed (RFC 7541, 5.2)."""
    content = text.encode()
    length, size = len(content), b""
    if length < 127:
        return bytes([length]) + content
    length -= 127
    while length >= 128:
        size += bytes([length % 128 + 128])
        length //= 128
    return b"\x7f" + size + bytes([length]) + content


def call(stream: int, path: str, headers: dict[str, str]) -> bytes:
    """The frame that starts a gRPC call."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    fields |= {name.lower(): value for name, value in headers.items()}
    return frame(HEADERS, END_HEADERS, stream, b"".join(b"\x00" + literal(name) + literal(value) for name, value in fields.items()))
