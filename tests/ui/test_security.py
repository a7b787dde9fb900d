"""Who may ask the server, and what its answers confine."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from importlib.resources import files

import pytest

pytest.importorskip("starlette")

import indextables as it
from indextables.ui import listen
from indextables.ui.app import make_app
from indextables.ui.guard import WRITE_HEADER, Access
from indextables.ui.limits import GoneError, TooBusyError, Turn, Workers
from support.ui_client import Client

PORT = 4711
BASE = f"http://127.0.0.1:{PORT}"


def client_of(table: str, *, write: bool = False, admitted: bool = True) -> tuple[Client, Access]:
    access = Access(PORT, write=write)
    client = Client(make_app({"0": it.open(table)}, access), BASE)
    if admitted:
        assert client.get("/", params={"token": access.token}).status_code == 303
    return client, access


@pytest.fixture
def client(ui_table) -> Client:
    return client_of(ui_table)[0]


def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(ui_table):
    client, access = client_of(ui_table, admitted=False)
    for path in ("/", "/api/session", "/api/0/describe", "/static/main.js", "/?token=wrong", "/?token="):
        assert client.get(path).status_code == 401
    answer = client.get("/", params={"token": access.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"indextables-{PORT}=")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert access.token not in cookie
    assert client.get("/api/session").status_code == 200
    assert len(access.token) >= 32  # 192 bits


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1.evil.example:{PORT}",
        "",
    ],
)
def test_a_foreign_host_is_refused(client, host):
    assert client.get("/api/session", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"[::1]:{PORT}", f"LOCALHOST:{PORT}"])
def test_the_names_of_the_loopback_are_answered(client, host):
    assert client.get("/static/main.js", headers={"host": host}).status_code in (200, 401)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {"origin": f"https://127.0.0.1:{PORT}"},
    ],
)
def test_a_request_of_another_site_is_refused(client, headers):
    assert client.get("/api/session", headers=headers).status_code == 403
    assert (
        client.get("/api/session", headers={"sec-fetch-site": "same-origin", "origin": BASE}).status_code
        == 200
    )


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_server_without_write_answers_no_other_method(client, ui_table, method):
    before = it.open(ui_table).version
    assert client.request(method, "/api/0/restore?to=0", headers={"origin": BASE}).status_code == 405
    assert it.open(ui_table).version == before


def test_a_write_needs_the_origin_and_the_token_of_the_page(tmp_path, ui_table):
    path = tmp_path / "own"
    for number in range(2):
        it.write(path, it.open(ui_table).to_arrow(limit=10 + number), mode="overwrite")
    client, access = client_of(str(path), write=True)
    assert client.post("/api/0/restore?to=0").status_code == 403
    assert client.post("/api/0/restore?to=0", headers={"origin": BASE}).status_code == 403
    assert client.post("/api/0/restore?to=0", headers={WRITE_HEADER: access.write_token}).status_code == 403
    assert client.put("/api/0/restore?to=0", headers={"origin": BASE}).status_code == 405
    assert it.open(path).version == 1
    token = client.get("/api/session").json()["write_token"]
    done = client.post("/api/0/restore?to=0", headers={"origin": BASE, WRITE_HEADER: token})
    assert (done.status_code, done.json()) == (200, {"version": 2})
    assert it.open(path).count() == 10


def test_a_reader_gets_no_token_to_write_with(client):
    assert "write_token" not in client.get("/api/session").json()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/",
        "/static/absent.js",
        "/etc/passwd",
        "//etc/passwd",
        "/api/0/absent",
    ],
)
def test_a_path_is_never_opened(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("table", ["1", "..", "%2e%2e", "file%3A%2F%2F%2Fetc"])
def test_only_the_tables_of_the_start_can_be_asked(client, table):
    assert client.get(f"/api/{table}/describe").status_code in (400, 404)


def test_only_a_live_split_is_opened(client):
    for path in ("../../../etc/passwd", "/etc/passwd", "_transaction_log/00000000000000000000.json", ""):
        assert client.get("/api/0/split", params={"path": path}).status_code == 400
    live = client.get("/api/0/files").json()["files"][0]["path"]
    found = client.get("/api/0/split", params={"path": live}).json()
    assert sum(part["bytes"] for part in found["parts"]) == found["bytes"]


@pytest.mark.parametrize("path", ["/", "/api/session", "/static/main.js", "/api/0/rows?q=(", "/absent"])
def test_every_answer_confines_the_page(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_the_page_names_no_other_host(client):
    names = [file.name for file in files("indextables.ui").joinpath("static").iterdir()]
    own = sorted(set(names) - {"uplot.js"})  # the chart library, as its authors publish it
    assert {"index.html", "main.js", "discover.js", "style.css", "chart.js"} <= set(own)
    for name in own:
        text = client.get("/" if name == "index.html" else f"/static/{name}").text
        found = re.findall(
            r"https?:|[^:]//[a-z]+\.|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function",
            text,
        )
        assert found == [], name


def test_text_of_rows_is_data_and_marks_are_parts(client):
    found = client.get("/api/0/rows", params={"q": "failure"})
    assert found.headers["content-type"] == "application/json"
    (row,) = found.json()["rows"]
    assert row["_snippet"][1] == "failure"
    assert row["message"].startswith("<script>")


@pytest.mark.parametrize(
    "params",
    [
        {"limit": "100000"},
        {"limit": "-1"},
        {"limit": "٣"},
        {"offset": "x"},
        {"v": "x"},
        {"v": "-1"},
        {"from": "yesterday"},
        {"where": "id <"},
        {"where": "1=1) OR (1=1"},
        {"q": "message:("},
        {"sort": "random"},
        {"by": "absent"},
        {"v": "9" * 400},
    ],
)
def test_a_wrong_parameter_is_an_error_of_the_request(client, params):
    answer = client.get("/api/0/overview", params=params)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_version_that_is_absent(client):
    assert client.get("/api/0/rows", params={"v": "99"}).status_code == 404


def test_too_many_searches_and_too_long_ones_are_refused():
    import asyncio  # noqa: PLC0415

    held = threading.Event()

    async def scenario() -> list[object]:
        workers = Workers(threads=1, seconds=0.05)
        try:
            waiting = [asyncio.create_task(workers.run(lambda _: held.wait())) for _ in range(31)]
            return await asyncio.gather(*waiting, return_exceptions=True)
        finally:
            held.set()
            workers.close()

    answers = asyncio.run(scenario())
    assert all(isinstance(answer, TooBusyError) for answer in answers)
    assert "waiting" in str(answers[-1])
    assert "more than" in str(answers[0])


def test_a_search_ends_when_its_browser_leaves():
    import asyncio  # noqa: PLC0415

    began, checks = threading.Event(), []

    def search(turn: Turn) -> None:
        began.set()
        while True:
            checks.append(turn)
            turn.check()

    async def scenario() -> list[object]:
        workers = Workers(threads=1)
        waiting: list[asyncio.Task[None]] = []

        async def has_left_while_waiting() -> bool:
            return began.is_set()

        async def has_left_after_the_others() -> bool:
            return all(task.done() for task in waiting)

        try:
            running = asyncio.create_task(workers.run(search, has_left_after_the_others))
            await asyncio.sleep(0)  # it has the only thread before the others ask for it
            waiting += [asyncio.create_task(workers.run(search, has_left_while_waiting)) for _ in range(2)]
            return await asyncio.gather(running, *waiting, return_exceptions=True)
        finally:
            workers.close()

    answers = asyncio.run(scenario())
    assert all(isinstance(answer, GoneError) for answer in answers)
    assert len(set(checks)) == 1  # the two that waited for the thread have not begun


def test_the_server_listens_on_the_loopback_alone(ui_table):
    address = listen()
    with address.socket as bound:
        assert bound.getsockname()[0] == "127.0.0.1"
        assert f":{bound.getsockname()[1]}/?token=" in address.url
        assert address.access.token not in repr(address)
    for host in ("0.0.0.0", "192.168.1.1", "example.org", "::"):
        with pytest.raises(it.InputError, match="ssh -L"):
            listen(host)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(it.StorageError, match="cannot be used"):
            listen(port=taken.getsockname()[1])


def test_the_command_serves_over_a_socket(cli_server):
    host = f"127.0.0.1:{cli_server.port}"
    connection = http.client.HTTPConnection("127.0.0.1", cli_server.port, timeout=60)
    connection.request("GET", "/", headers={"Host": "evil.example"})
    assert connection.getresponse().read().startswith(b"the name of this host")
    connection.request("GET", f"/?token={cli_server.token}", headers={"Host": host})
    answer = connection.getresponse()
    answer.read()
    cookie = answer.headers["set-cookie"].partition(";")[0]
    connection.request("GET", "/api/0/overview?q=disk&fields=level", headers={"Host": host, "Cookie": cookie})
    found = json.loads(connection.getresponse().read())
    connection.close()
    assert found["total"] == 33
    assert {row["value"] for row in found["top"]["level"]} == {"ERROR", "INFO"}
