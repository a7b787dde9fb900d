"""The routes: one page, its files, and answers in JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Final

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from indextables.errors import (
    IndexTablesError,
    InputError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.runtime import now_ms
from indextables.table import RowPlace, Table, plain_rows
from indextables.ui.conditions import open_tables, to_asked, to_whole
from indextables.ui.discovery import around_answer, exported_rows, overview_answer, rows_answer
from indextables.ui.guard import Access, Guard
from indextables.ui.inspection import (
    describe_answer,
    diff_answer,
    files_answer,
    health_answer,
    history_answer,
    settings_answer,
    split_answer,
)
from indextables.ui.limits import MAX_EXPORTED, GoneError, TooBusyError, Turn, Workers

Params = Mapping[str, str]
View = Callable[[Table, Params, Turn], dict[str, Any]]

_TYPES: Final = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_MAX_FIELDS: Final = 20
_MAX_COLUMNS: Final = 1000
_MOST: Final = 1 << 62


class _Json(JSONResponse):
    """JSON of any value of a row: decimals and times inside of lists are text, NaN there is null."""

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str)


def make_app(tables: Mapping[str, Table], access: Access, workers: Workers | None = None) -> Guard:
    """Return the application over tables by their number. The tables are those, whatever a request says."""
    running = workers or Workers()
    routes = [Route("/", _static("index.html"))]
    routes += [Route(f"/static/{name}", _static(name)) for name in _static_names()]
    routes.append(Route("/api/session", _session(tables, access)))
    for name, view in _VIEWS.items():
        routes.append(Route(f"/api/{{table}}/{name}", _answer(tables, running, view)))
    routes.append(Route("/api/{table}/export", _export(tables, running)))
    for name, change in _CHANGES.items():
        routes.append(Route(f"/api/{{table}}/{name}", _answer(tables, running, change), methods=["POST"]))
    return Guard(Starlette(routes=routes), access)


def _fields(params: Params, key: str = "fields", most: int = _MAX_FIELDS) -> list[str]:
    names = [name for name in params.get(key, "").split("\x1f") if name]
    if len(names) > most:
        raise InputError(f"{key} names {len(names)} columns; the most is {most}")
    return names


def _whole(params: Params, name: str) -> int:
    return to_whole(params.get(name, ""), name, _MOST)


def _place(params: Params) -> RowPlace:
    return RowPlace(params.get("split", ""), _whole(params, "row"))


_VIEWS: Final[Mapping[str, View]] = {
    "describe": lambda table, _, __: describe_answer(table),
    "rows": lambda table, params, turn: rows_answer(to_asked(table, params), turn),
    "overview": lambda table, params, turn: overview_answer(to_asked(table, params), _fields(params), turn),
    "around": lambda table, params, turn: around_answer(to_asked(table, params), _place(params), turn),
    "history": lambda table, params, _: history_answer(
        table, _whole(params, "before") if "before" in params else None
    ),
    "diff": lambda table, params, _: diff_answer(table, _whole(params, "old")),
    "health": lambda table, _, __: health_answer(table),
    "files": lambda table, params, _: files_answer(
        table, to_whole(params.get("offset") or "0", "offset", _MOST)
    ),
    "split": lambda table, params, _: split_answer(table, params.get("path", "")),
    "settings": lambda table, _, __: settings_answer(table),
}
_CHANGES: Final[Mapping[str, View]] = {
    "restore": lambda table, params, _: {"version": table.refresh().restore(_whole(params, "to"))},
    "merge": lambda table, _, __: {"message": table.merge_splits(target_size="256M").message},
    "checkpoint": lambda table, _, __: {"version": table.checkpoint()},
}
"""What `--write` allows. None of it deletes a row or a file."""


def _answer(tables: Mapping[str, Table], workers: Workers, view: View) -> Any:
    async def endpoint(request: Request) -> Response:
        params = dict(request.query_params)

        def call(turn: Turn) -> dict[str, Any]:
            return view(open_tables(tables, request.path_params["table"], params.get("v")), params, turn)

        return await _guarded(workers, request, call, _Json)

    return endpoint


def _export(tables: Mapping[str, Table], workers: Workers) -> Any:
    async def endpoint(request: Request) -> Response:
        params = dict(request.query_params)

        def call(turn: Turn) -> tuple[str, bool]:
            table = open_tables(tables, request.path_params["table"], params.get("v"))
            asked = to_asked(table, params)
            found = exported_rows(asked, _fields(params, "columns", _MAX_COLUMNS), turn)
            out = io.StringIO()
            writer = csv.DictWriter(out, found.column_names)
            writer.writeheader()
            writer.writerows(plain_rows(found))
            is_full = found.num_rows == MAX_EXPORTED
            return out.getvalue(), is_full and table.count(asked.query, where=asked.where) > MAX_EXPORTED

        def attachment(written: tuple[str, bool]) -> Response:
            text, is_cut = written
            first = f"first-{MAX_EXPORTED}-" if is_cut else ""
            headers = {"content-disposition": f'attachment; filename="{first}rows-{now_ms()}.csv"'}
            return Response(text, media_type="text/csv", headers=headers)

        return await _guarded(workers, request, call, attachment)

    return endpoint


async def _guarded(
    workers: Workers, request: Request, call: Callable[[Turn], Any], answer: Callable[[Any], Response]
) -> Response:
    has_left = request.is_disconnected if request.method == "GET" else _stays
    try:
        return answer(await workers.run(call, has_left))
    except GoneError:
        return Response(status_code=499)  # the browser does not read it
    except TooBusyError as reason:
        return _error(503, "busy", reason)
    except (TableNotFoundError, VersionNotFoundError) as reason:
        return _error(404, "missing", reason)
    except InputError as reason:
        return _error(400, "input", reason)
    except IndexTablesError as reason:
        return _error(500, "table", reason)


async def _stays() -> bool:
    """Return False: what changes a table is finished, whether the browser waits or not."""
    return False


def _error(status: int, kind: str, reason: Exception) -> Response:
    return _Json({"error": str(reason), "kind": kind}, status_code=status)


def _session(tables: Mapping[str, Table], access: Access) -> Any:
    async def endpoint(_: Request) -> Response:
        listed = [{"id": number, "uri": table.uri} for number, table in tables.items()]
        write = {"write_token": access.write_token} if access.write else {}
        return _Json({"tables": listed, "write": access.write, "most_exported": MAX_EXPORTED, **write})

    return endpoint


def _static_names() -> list[str]:
    return sorted(file.name for file in files(__package__).joinpath("static").iterdir() if "." in file.name)


def _static(name: str) -> Any:
    """Return the endpoint of one file of the package, read when the server starts."""
    data = files(__package__).joinpath("static", name).read_bytes()
    media = _TYPES.get(name.rpartition(".")[2], "text/plain")

    async def endpoint(_: Request) -> Response:
        return Response(data, media_type=media)

    return endpoint
