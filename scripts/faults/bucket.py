"""A small S3 that lists and gives objects, and can fail or stall."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

BUCKET = "models"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}  # of its callers


class Bucket:
    """Objects by key. While failing, reads get 503; objects in stalled send their first bytes and then nothing."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.failing = False
        self.stalled: set[str] = set()
        self.released = threading.Event()
        bucket = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                bucket.answer(self)

            do_HEAD = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        port = self.server.server_address[1]
        return f"s3://{BUCKET}?endpoint=http://127.0.0.1:{port}&use_path_style=true&region=us-east-1"

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        key = request.path.split("?")[0].removeprefix(f"/{BUCKET}").strip("/")
        if not key:
            return reply(request, 200, self.listing(), {"Content-Type": "application/xml"})
        if self.failing:
            error = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
            return reply(request, 503, error, {"Content-Type": "application/xml"})
        if key not in self.objects:
            return reply(request, 404, b"<Error><Code>NoSuchKey</Code></Error>", {"Content-Type": "application/xml"})
        content = self.objects[key]
        first, last, status = 0, len(content) - 1, 200
        headers = {"ETag": tag(content), "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Content-Type": "binary/octet-stream"}
        if asked := request.headers.get("Range"):
            start, _, end = asked.removeprefix("bytes=").partition("-")
            first, last, status = int(start), min(int(end or last), last), 206
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        if key in self.stalled and request.command == "GET":
            reply(request, status, content[first : first + 1000], headers, length=last - first + 1)
            self.released.wait()
            request.close_connection = True
            return None
        return reply(request, status, content[first : last + 1], headers)

    def listing(self) -> bytes:
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{escape(tag(content))}</ETag>"
            f"<Size>{len(content)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for key, content in sorted(self.objects.items())
        )
        text = f"<Name>{BUCKET}</Name><IsTruncated>false</IsTruncated><KeyCount>{len(self.objects)}</KeyCount>{entries}"
        return f'<?xml version="1.0"?><ListBucketResult>{text}</ListBucketResult>'.encode()


def tag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def reply(request: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(body) if length is None else length))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)
        request.wfile.flush()
