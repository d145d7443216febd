"""A scheduler over TLS, with the certificates of Dask's own configuration."""

import shutil
import subprocess

import pytest

from shlcore.parallel import ClusterError, connect_to_cluster, map_on_cluster

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """Make certificates that vouch for themselves; return each one's part of a configuration."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("tls")

    def configuration(name):
        key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
        words = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x")
        subprocess.run(
            ["openssl", *words, "-keyout", str(key), "-out", str(certificate)],
            check=True,
            capture_output=True,
        )
        own = {"ca-file": str(certificate)}
        for role in ("client", "scheduler", "worker"):
            own |= {f"{role}.cert": str(certificate), f"{role}.key": str(key)}
        return {f"distributed.comm.tls.{field}": file for field, file in own.items()}

    return configuration("ours"), configuration("strangers")


@pytest.fixture
def address(certified):
    with (
        dask.config.set(certified[0]),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            protocol="tls://",
            security=distributed.security.Security(),
        ) as cluster,
    ):
        yield cluster.scheduler_address


def test_work_goes_over_tls_with_the_configured_certificates(certified, address):
    assert address.startswith("tls://")
    with dask.config.set(certified[0]), connect_to_cluster(address) as client:
        assert dict(map_on_cluster(client, abs, [-1, 2])) == {-1: 1, 2: 2}


def test_a_client_without_certificate_is_refused(certified, address, monkeypatch):
    monkeypatch.setattr("shlcore.parallel._CONNECT_TIMEOUT", "2s")
    with (
        dask.config.set(certified[1]),
        pytest.raises(ClusterError, match="wanted a Dask scheduler there, got no answer"),
        connect_to_cluster(address),
    ):
        pass


NOWHERE = {f"distributed.comm.tls.{field}": "/no.pem" for field in ("ca-file", "client.cert")}


@pytest.mark.parametrize(
    ("configuration", "address", "told"),
    [
        ({}, "tls://127.0.0.1:9", "wanted TLS certificates .* got none"),
        (NOWHERE, "tls://127.0.0.1:9", "certificates .* got an error: No such file"),
        ({"distributed.comm.require-encryption": True}, "tcp://127.0.0.1:9", "a tls:// address"),
    ],
)
def test_missing_tls_settings_are_one_clear_sentence(configuration, address, told):
    with (
        dask.config.set(configuration),
        pytest.raises(ClusterError, match=told),
        connect_to_cluster(address),
    ):
        pass
