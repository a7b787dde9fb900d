"""How settings and environment become access to S3 and Azure, and where secrets must not show."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.predicates import TRUE
from indextables.runtime import current
from indextables.schema import TableSchema
from indextables.storage import open_store, opening, options_for_tasks
from indextables.storage.access import Access, azure_access, s3_access
from indextables.storage.uri import parse
from indextables.table import ScanRequest, plan_scan, plan_write

AWS, S3, AZURE = "spark.indextables.aws.", "spark.indextables.s3.", "spark.indextables.azure."
KEYS = {f"{AWS}accessKey": "AKIDexample", f"{AWS}secretKey": "sEcReT-one"}
CONNECTION = "DefaultEndpointsProtocol=http;AccountName=acme;AccountKey=sEcReTkEy==;BlobEndpoint=http://127.0.0.1:9/acme"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(opening.os.environ):
        if name.startswith(("AWS_", "AZURE_")):
            monkeypatch.delenv(name)


def s3(options: dict[str, str]) -> Access:
    return s3_access(parse("s3://bucket/t"), Settings(options))


def azure(options: dict[str, str], uri: str = "abfss://box@acme.dfs.core.windows.net/t") -> Access:
    return azure_access(parse(uri), Settings(options))


def test_keys_in_settings_are_taken_whole_and_without_the_environments_session(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-another-account")
    credentials = s3(KEYS).credentials
    assert credentials == {
        "access_key_id": "AKIDexample",
        "secret_access_key": "sEcReT-one",
        "token": None,
        "expires_at": None,
    }
    assert s3(KEYS | {f"{AWS}sessiontoken": "t"}).credentials["token"] == "t"


def test_without_keys_in_settings_the_environment_decides():
    assert s3({}) == Access("")
    assert azure({}).credentials is None


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({f"{AWS}accessKey": "AKID"}, "aws.secretKey"),
        ({f"{AWS}secretKey": "sEcReT"}, "aws.accessKey"),
        ({f"{AZURE}clientId": "i", f"{AZURE}clientSecret": "sEcReT"}, "azure.tenantId"),
    ],
)
def test_half_a_credential_is_refused(options: dict[str, str], missing: str):
    with pytest.raises(ConfigError, match=f"{missing} is not set") as caught:
        s3(options) if "aws" in missing else azure(options)
    assert "sEcReT" not in str(caught.value)


def test_an_endpoint_may_be_http_only_when_it_is_named_so(monkeypatch: pytest.MonkeyPatch):
    assert not s3({}).plain_http
    assert s3({f"{AWS}endpoint": "http://127.0.0.1:9000/"}).plain_http
    assert s3({f"{AWS}endpoint": "storage.example.com"}).endpoint == "https://storage.example.com"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert s3({}).plain_http
    assert not s3({f"{AWS}endpoint": "https://storage.example.com"}).plain_http


@pytest.mark.parametrize("endpoint", ["ftp://x", "http://", "http://u:sEcReT@x", "https://x?sig=sEcReT"])
def test_what_is_no_endpoint_is_refused_unseen(endpoint: str):
    with pytest.raises(ConfigError, match="endpoint of a store") as caught:
        s3({f"{AWS}endpoint": endpoint})
    assert "sEcReT" not in str(caught.value)


def test_path_style_and_its_other_name():
    named = {f"{AWS}endpoint": "http://127.0.0.1:9000"}
    assert s3(named | {f"{AWS}forcePathStyle": "true"}).config == {
        "endpoint": "http://127.0.0.1:9000",
        "virtual_hosted_style_request": False,
    }
    hosted = s3({f"{S3}endpoint": "http://127.0.0.1:9000", f"{S3}pathStyleAccess": "false"})
    assert hosted.config == {
        "endpoint": "http://bucket.127.0.0.1:9000",
        "virtual_hosted_style_request": True,
    }
    both = {f"{S3}endpoint": "http://other:1"} | named
    assert s3(both).endpoint == "http://127.0.0.1:9000", "the aws name wins"
    with pytest.raises(ConfigError, match="true or false"):
        s3({f"{AWS}forcePathStyle": "yes"})


def test_older_names_of_the_endpoint_and_of_path_style():
    older = {f"{S3}serviceUrl": "http://127.0.0.1:9000", f"{AWS}pathStyleAccess": "true"}
    assert s3(older).config == {"endpoint": "http://127.0.0.1:9000", "virtual_hosted_style_request": False}
    assert s3(older | {f"{S3}endpoint": "http://127.0.0.1:1"}).endpoint == "http://127.0.0.1:1"
    assert s3(older | {f"{AWS}forcePathStyle": "false"}).config["virtual_hosted_style_request"]
    assert not s3(older | {f"{S3}pathStyleAccess": "false"}).config["virtual_hosted_style_request"]


def test_the_account_is_that_of_the_address():
    assert azure({}).config == {"account_name": "acme"}
    assert azure({f"{AZURE}accountName": "acme"}, "abfss://box/t").config == {"account_name": "acme"}
    with pytest.raises(
        ConfigError, match="'acme', but the settings are for 'other'; use the settings of account 'acme'"
    ):
        azure({f"{AZURE}accountName": "other"})


@pytest.mark.parametrize(
    ("options", "credentials"),
    [
        ({f"{AZURE}accountKey": "k=="}, {"access_key": "k=="}),
        ({f"{AZURE}bearerToken": "t", f"{AZURE}accountKey": "k"}, {"token": "t"}),
        ({f"{AZURE}sasToken": "?sv=1&sig=s"}, {"sas_token": "sv=1&sig=s"}),
        ({f"{AZURE}connectionString": CONNECTION}, {"access_key": "sEcReTkEy=="}),
    ],
)
def test_azure_credentials(options: dict[str, str], credentials: dict[str, Any]):
    assert azure(options).credentials == credentials | {"expires_at": None}


def test_a_connection_string_names_the_endpoint():
    assert azure({f"{AZURE}connectionString": CONNECTION}).endpoint == "http://127.0.0.1:9/acme"
    suffix = "AccountName=acme;AccountKey=k;EndpointSuffix=core.chinacloudapi.cn"
    assert azure({f"{AZURE}connectionString": suffix}).endpoint == "https://acme.blob.core.chinacloudapi.cn"
    with pytest.raises(ConfigError, match="Name=value") as caught:
        azure({f"{AZURE}connectionString": "sEcReT"})
    assert "sEcReT" not in str(caught.value)


def test_a_service_principal_is_handed_on():
    config = azure(
        {f"{AZURE}tenantId": "t", f"{AZURE}clientId": "c", f"{AZURE}clientSecret": "sEcReT"}
    ).config
    assert config | {"client_secret": "sEcReT", "tenant_id": "t", "client_id": "c"} == config
    assert open_store("abfss://box@acme.dfs.core.windows.net/t", Settings({f"{AZURE}bearerToken": "sEcReT"}))


def test_the_secrets_of_both_are_known_to_the_error_messages(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    assert set(s3(KEYS).secrets) == {"sEcReT-one", "of-the-environment"}
    assert "sEcReTkEy==" in azure({f"{AZURE}connectionString": CONNECTION}).secrets


def test_no_repr_shows_a_secret():
    options = {
        **KEYS,
        f"{AZURE}accountKey": "sEcReT-two",
        f"{AZURE}typo": "sEcReT-three",
        f"{AWS}region": "nowhere-1",
    }
    assert "sEcReT" not in repr(Settings(options))
    assert "nowhere-1" in repr(Settings(options))
    assert "sEcReT" not in repr(s3(KEYS))
    store = open_store("s3://bucket/t", Settings(KEYS))
    assert "sEcReT" not in repr(store)
    with pytest.raises(TypeError, match="cannot be pickled; open it again"):
        pickle.dumps(store)


def test_plans_that_leave_the_driver_carry_only_the_credentials_of_their_store():
    options = {**KEYS, f"{AZURE}accountKey": "sEcReT-two"}
    it.write("memory:carried", pa.table({"id": [1]}))
    table = it.open("memory:carried", settings=options)
    plan = plan_scan(table.uri, table.snapshot, ScanRequest(("id",), TRUE), table.settings)
    schema = TableSchema.from_arrow(table.schema)
    written = plan_write("memory:carried", schema, mode="append", partition_by=None, settings=table.settings)
    for travelling in (plan, written):
        assert b"sEcReT" not in pickle.dumps(travelling), "this store needs none"
    on_s3 = options_for_tasks("s3://bucket/t", Settings(options))
    assert on_s3 == KEYS
    needed = plan_scan("s3://bucket/t", table.snapshot, ScanRequest(("id",), TRUE), Settings(options))
    assert "sEcReT" not in repr(needed)
    assert needed.tasks[0].options == KEYS


def test_clients_are_shared_by_the_tables_of_a_bucket_and_by_nobody_else(monkeypatch: pytest.MonkeyPatch):
    def client(uri: str, options: dict[str, str]) -> object:
        return open_store(uri, Settings(options))._client

    first = client("s3://bucket/a", KEYS)
    assert client("s3://bucket/b", KEYS) is first
    assert client("s3://other/a", KEYS) is not first
    assert client("s3://bucket/a", KEYS | {f"{AWS}secretKey": "another"}) is not first
    monkeypatch.setenv("AWS_REGION", "nowhere-2")
    assert client("s3://bucket/a", KEYS) is not first
    for n in range(2 * opening.CLIENTS.entries):
        client(f"s3://bucket-{n}/a", KEYS)
    assert len(current().cache(opening.CLIENTS)) == opening.CLIENTS.entries
