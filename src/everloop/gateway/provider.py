"""pydantic-ai models over a given HTTP client: retries of the SDK off, the key of the entry and no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, cast

from everloop.errors import ModelNotConfigured
from everloop.gateway.base import KeySource, ModelEntry

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

NO_KEY = "no-key"
"""Sent where an endpoint takes no key: the SDKs insist on one, and would look for it in the environment."""
URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Endpoints of the two built-in wire shapes, given explicitly so that no variable moves a key elsewhere."""
OPENAI_HOSTS = ("openai.com", "azure.com")


def base_url(entry: ModelEntry) -> str:
    """Where a model is reached; empty when only its provider knows."""
    return entry.base_url or URLS.get(entry.provider, "")


def key_of(entry: ModelEntry, secret: str | None) -> str:
    """The key to send. ModelNotConfigured when the entry needs one and there is none."""
    if secret:
        return secret
    if entry.key_source is KeySource.NONE:
        return NO_KEY
    where = f"the variable {entry.key_name}" if entry.key_source is KeySource.ENVIRONMENT else "its key file"
    raise ModelNotConfigured(
        f"model {entry.name} has no key", why=f"{where} is empty or missing", then="Set it and try again"
    )


def build(entry: ModelEntry, key: str, client: httpx2.AsyncClient) -> Model:
    """The model of an entry. ModelNotConfigured when its provider is unknown or not installed."""
    if entry.provider == "openai":
        return _openai(entry, key, client)
    if entry.provider == "anthropic":
        return _anthropic(entry, key, client)
    return _other(entry, key, client)


def _openai(entry: ModelEntry, key: str, client: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI, Omit
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    url = base_url(entry)
    # explicit headers win over OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID and OPENAI_PROJECT_ID of the environment
    own: dict[str, str | Omit] = {
        "Authorization": f"Bearer {key}",
        "OpenAI-Organization": Omit(),
        "OpenAI-Project": Omit(),
    }
    sdk = AsyncOpenAI(
        base_url=url,
        api_key=key,
        max_retries=0,
        timeout=client.timeout,
        http_client=client,
        default_headers=cast("Mapping[str, str]", own),
    )
    # compatible servers know max_tokens; one that skips over max_completion_tokens would answer without a bound
    newer = _of(client_host(url) or "", OPENAI_HOSTS)
    profile = OpenAIModelProfile(
        openai_chat_supports_max_completion_tokens=newer, openai_chat_streaming_requires_finish_reason=True
    )
    return OpenAIChatModel(entry.model, provider=OpenAIProvider(openai_client=sdk), profile=profile)


def _anthropic(entry: ModelEntry, key: str, client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic, Omit
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    sdk = AsyncAnthropic(
        base_url=base_url(entry),
        api_key=key,
        max_retries=0,
        timeout=client.timeout,
        # wins over ANTHROPIC_CUSTOM_HEADERS and ANTHROPIC_AUTH_TOKEN
        default_headers=cast("Mapping[str, str]", {"X-Api-Key": key, "Authorization": Omit()}),
        http_client=client,
    )
    return AnthropicModel(entry.model, provider=AnthropicProvider(anthropic_client=sdk))


def _other(entry: ModelEntry, key: str, client: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    try:
        maker = infer_provider_class(entry.provider)
        known = signature(maker.__init__).parameters
        if "http_client" not in known or "api_key" not in known:
            raise _unfit(entry, "it does not take the gateway's HTTP client")
        given: dict[str, object] = {"api_key": key, "http_client": client}
        place = next((name for name in ("base_url", "api_base") if name in known), None)
        if entry.base_url and place is None:
            raise _unfit(entry, "it takes no base URL, so its requests would go elsewhere")
        if not entry.base_url and place is not None:
            raise _unfit(entry, "it needs a base URL: its endpoint would be taken from the environment")
        if entry.base_url and place is not None:
            given[place] = entry.base_url
        make: Callable[..., Provider[object]] = maker  # the base class has no arguments, those that are used do
        provider = make(**given)
        model = infer_model(f"{entry.provider}:{entry.model}", provider_factory=lambda _: provider)
    except ImportError as missing:
        raise _unfit(entry, str(missing)) from missing
    except (ValueError, TypeError) as error:
        raise _unfit(entry, f"{type(error).__name__} when it was made") from error
    sdk = provider.client
    if hasattr(sdk, "max_retries"):
        sdk.max_retries = 0
    if isinstance(
        sdk, AsyncOpenAI
    ):  # nothing of the environment's OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID, OPENAI_PROJECT_ID
        sdk.organization = sdk.project = None
        sdk._custom_headers = {"Authorization": f"Bearer {key}"}
    return model


def _of(host: str, domains: tuple[str, ...]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def client_host(url: str) -> str | None:
    """The host of an endpoint."""
    from urllib.parse import urlsplit

    return urlsplit(url).hostname


def _unfit(entry: ModelEntry, why: str) -> ModelNotConfigured:
    return ModelNotConfigured(
        f"model {entry.name}: provider {entry.provider!r} cannot be used",
        why=why,
        then="Install what it names, or use openai or anthropic with the base URL of the endpoint",
    )
