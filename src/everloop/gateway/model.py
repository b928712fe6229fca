"""The gateway's model: a pydantic-ai model that reserves, retries, settles and journals, and has no way around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, NoReturn

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel

from everloop.errors import InvalidRequest, Unavailable
from everloop.gateway.base import Account, Call, Charge, Purpose
from everloop.gateway.bounds import check, settings_of
from everloop.gateway.digest import asked
from everloop.gateway.exchange import Exchange

if TYPE_CHECKING:
    from pydantic_ai._run_context import RunContext
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage

    from everloop.gateway.line import Line


class GatewayModel(WrapperModel):
    """A configured model, paid by one account. Usable wherever a pydantic-ai model is, in any event loop.

    `wrapped` describes the model and can send nothing: its client is sealed. Requests go over the line of the running
    event loop.
    """

    def __init__(
        self, described: Model, line: Callable[[], Line], account: Account, key: str, purpose: Purpose
    ) -> None:
        super().__init__(described)
        self._line, self._account, self._key, self._purpose = line, account, key, purpose
        self._asked: Counter[str] = Counter()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The answer. ModelUnavailable, ModelRefused, ModelNotConfigured, CapReached."""
        exchange, settings = self._exchange(messages, model_settings, model_request_parameters)
        model = exchange.line.model
        return await exchange.answer(lambda: model.request(messages, settings, model_request_parameters))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The answer as it comes. Errors as for `request`; ModelUnavailable when it breaks off later."""
        exchange, settings = self._exchange(messages, model_settings, model_request_parameters)
        model = exchange.line.model
        async with AsyncExitStack() as held:
            yield await exchange.stream(
                lambda: model.request_stream(messages, settings, model_request_parameters, run_context),
                model_request_parameters,
                held,
            )

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """The provider's count: a request that costs nothing. Unavailable where it has no such endpoint."""
        exchange, settings = self._exchange(messages, model_settings, model_request_parameters, kind="count")
        model = exchange.line.model
        if type(model).count_tokens is Model.count_tokens:
            raise Unavailable(
                f"{model.system} counts no tokens",
                why="it has no endpoint for that",
                then="Leave the count before a request out",
            )

        async def count() -> ModelResponse:
            usage = await model.count_tokens(messages, settings, model_request_parameters)
            return ModelResponse(parts=[], usage=usage)

        return (await exchange.answer(count, free=True)).usage

    def _exchange(
        self,
        messages: Sequence[ModelMessage],
        given: ModelSettings | None,
        parameters: ModelRequestParameters,
        kind: str = "ask",
    ) -> tuple[Exchange, ModelSettings]:
        line = self._line()
        settings, price = settings_of(line.entry, given), line.price
        check(settings, parameters, price)
        # as the provider's adapter writes them: some write out what a schema only refers to, many times over
        sent = line.model.customize_request_parameters(parameters)
        what = asked(line.entry, messages, settings, sent, kind)
        # numbered by question: parallel requests that come in another order in a replay have the same keys
        self._asked[what.digest] += 1
        call = Call(f"{self._key}.{self._asked[what.digest]}", what.digest, line.entry.name, self._purpose)
        micros = 0 if kind == "count" else price.worst(what.input_tokens, what.output_tokens)
        return Exchange(line, self._account, call, Charge(micros)), settings

    async def _refused(self, *_: object, **__: object) -> NoReturn:
        raise InvalidRequest(
            "the gateway makes plain and streamed requests only",
            why="every request is reserved, settled and journalled, and this one could not be",
            then="Use a plain or a streamed request",
        )

    compact_messages = _refused
    batch_encode = batch_create = batch_status = batch_results = batch_cancel = _refused
    cancel_suspended_response = _refused
