"""Settings, read from the environment (``EVERLOOP_...``)."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Everything an installation can set. Each field is an environment variable with the prefix ``EVERLOOP_``."""

    model_config = SettingsConfigDict(env_prefix="EVERLOOP_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=lambda: user_data_path("everloop"))
    """Folder of runs, jobs, checkpoints and (by default) the database; created with mode 0700."""
    database_url: str = ""
    """SQLAlchemy URL (``sqlite:///...`` or ``postgresql://...``); empty: SQLite ``everloop.db`` inside ``home``."""
    local_usd_per_hour: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Price of an hour of a job on this machine, in US dollars; what ``usd_cap`` reserves against."""
    job_time_limit_seconds: float = Field(default=900.0, gt=0, allow_inf_nan=False)
    """Wall seconds after which a training job is killed and counts as failed."""
    evaluation_timeout_seconds: float = Field(default=300.0, gt=0, allow_inf_nan=False)
    """Wall seconds one sampling request to a student may take before it counts as failed."""
    worker_lease_seconds: float = Field(default=5.0, gt=0.5, allow_inf_nan=False)
    """Silence after which a worker's peers fence it off and take over its runs."""
    synthetic_seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Least wall seconds that a training job of the synthetic student takes; for tests of durability."""
    max_active_runs: int = Field(default=16, ge=1)
    """Runs that may be starting or running at once; a start beyond it is a conflict."""
    model_deadline_seconds: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    """Wall seconds one attempt of a request to a model may take, however slowly its answer drips in."""
    model_retries: int = Field(default=4, ge=0, le=10)
    """Attempts after the first when a model does not answer; they wait 1, 2, 4, ... seconds."""
    model_retry_after_seconds: float = Field(default=60.0, ge=0, allow_inf_nan=False)
    """Longest wait that a model's server may ask for; beyond it the request fails at once."""
    model_breaker_failures: int = Field(default=5, ge=1)
    """Failures in a row after which a model is left alone for a while."""
    model_breaker_seconds: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """How long it is left alone before one request tries again."""

    host: str = "127.0.0.1"
    """Address that `el up` and `el serve` listen on; another than loopback needs TLS or a trusted proxy."""
    port: int = Field(default=8711, ge=0, le=65535)
    """Port they listen on; 0: a free one."""
    tls_certificate: str = ""
    """PEM file of the server's certificate chain; empty: no TLS."""
    tls_key: str = ""
    """PEM file of its private key."""
    trusted_proxy: str = ""
    """Addresses, comma-separated, of the proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed."""
    public_url: str = ""
    """Address under which people and clients reach the server, a path of a proxy included; empty: as it listens."""
    api_requests_per_minute: int = Field(default=6000, ge=1)
    """Requests a minute that one key or session may make; sign-ins and refused keys count by address, at a tenth."""
    session_hours: float = Field(default=12.0, gt=0, le=24 * 365, allow_inf_nan=False)
    """How long a person stays signed in."""
    oidc_issuer: str = ""
    """Issuer URL of an OpenID Connect provider for single sign-on; empty: none."""
    oidc_client_id: str = ""
    """Client id there."""
    oidc_client_secret: SecretStr = SecretStr("")
    """Client secret there."""
    oidc_roles_claim: str = "groups"
    """Claim of the id token that holds the names which `oidc_admin`, `oidc_developer` and `oidc_viewer` look for."""
    oidc_admin: str = ""
    """Names, comma-separated, that make a person Admin; empty: nobody."""
    oidc_developer: str = ""
    """Names that make a person Developer."""
    oidc_viewer: str = ""
    """Names that make a person Viewer; ``*``: everybody the provider lets in."""
    oidc_project: str = ""
    """Project that people who sign in so are members of; empty: ``local``."""
    otlp_endpoint: str = ""
    """Address of an OpenTelemetry collector (OTLP over HTTP) that gets traces; empty: none. Needs the extra `otel`."""

    @property
    def url(self) -> str:
        """The database URL in force."""
        return self.database_url or f"sqlite:///{self.home / 'everloop.db'}"
