"""The settings of a call, with its bound on output; what would cost more than its price says is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from everloop.errors import InvalidRequest
from everloop.gateway.base import ModelEntry
from everloop.gateway.prices import Price

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

UNBOUNDED_BODY = frozenset(
    {"n", "best_of", "max_tokens", "max_completion_tokens", "max_output_tokens", "model", "models", "tools", "messages"}
    | {"plugins", "web_search_options", "search_parameters", "modalities", "audio", "input", "prompt"}
)
"""Fields of ``extra_body`` that would undo the bound of a call: more answers, longer ones, another model, searches."""
UNSEEN = frozenset(
    {"openai_native_tools", "openai_builtin_tools", "openai_previous_response_id", "openai_conversation_id"}
    | {"openai_background", "openai_transport", "anthropic_container", "anthropic_context_management"}
)
"""Settings that bring input or work of the provider's that a call's worst cost does not cover."""
TIERS = ("service_tier", "openai_service_tier", "anthropic_service_tier", "anthropic_speed")
LISTED_TIERS = frozenset({"auto", "default", "standard", "standard_only", "flex"})
"""Tiers that cost at most what the price list says."""
KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "proxy-authorization"})


def settings_of(entry: ModelEntry, given: ModelSettings | None) -> ModelSettings:
    """The entry's settings, the caller's over them; the output is always bounded."""
    merged = {
        "max_tokens": entry.max_tokens,
        **entry.settings,
        **{k: v for k, v in (given or {}).items() if v is not None},
    }
    merged.pop("max_retries", None)  # attempts are the gateway's: the SDK's own would be sent unseen
    bound = merged["max_tokens"]
    if not isinstance(bound, int) or isinstance(bound, bool) or bound < 1:
        raise InvalidRequest(f"max_tokens is {bound!r}", then="Set it to a whole number, 1 or more")
    return cast("ModelSettings", merged)


def check(settings: ModelSettings, parameters: ModelRequestParameters, price: Price) -> None:
    """InvalidRequest for what the worst cost of a call would not cover, and for a key that is not the entry's."""
    body = settings.get("extra_body")
    unbounded = (
        sorted(UNBOUNDED_BODY & set(body)) if isinstance(body, Mapping) else [] if body is None else ["extra_body"]
    )
    if unbounded:
        raise _refused(f"extra_body sets {', '.join(unbounded)}")
    unseen = sorted(name for name in UNSEEN if settings.get(name))
    if settings.get("openai_reasoning_mode") == "pro":
        unseen.append("openai_reasoning_mode")
    if unseen:
        raise _refused(f"{', '.join(unseen)} cannot be bounded")
    if parameters.native_tools:
        raise _refused("tools that run at the provider cost extra")
    if price.source != "owner":
        for tier in TIERS:
            if settings.get(tier) not in {None, *LISTED_TIERS}:
                raise _refused(f"{tier} {settings.get(tier)!r} has another price")
    if any(header.lower() in KEY_HEADERS for header in settings.get("extra_headers") or {}):
        raise InvalidRequest("a call brings a key of its own", then="Configure the key with the model")


def _refused(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"a call without a bound on its cost: {what}",
        why="the worst cost of a call is reserved before it is made",
        then="Leave it out, or set the model's own prices where only the price is in the way",
    )
