"""Fixed patterns of the events of runs, so that pages can tell them in the reader's language.

Events are stored and sent in English. What a model or a person wrote is left as it is, alone or within a pattern.
"""

from __future__ import annotations

from everloop.language.catalogue import ENGLISH, Language
from everloop.language.patterns import Patterns
from everloop.language.vocabulary import N_

EVENTS = (
    N_("run %(run)s requested by %(who)s"),
    N_("run %(run)s starts: %(n)s rounds of %(domain)s with %(operator)s"),
    N_("run %(run)s goes on at round %(n)s"),
    N_("run %(run)s resumed"),
    N_("run %(run)s extended"),
    N_("run %(run)s stopped while paused"),
    N_("run %(run)s stopped: the owner asked for it"),
    N_("run %(run)s finished: the target is reached"),
    N_("run %(run)s finished: the goal is reached, %(text)s"),
    N_("run %(run)s finished: the fresh items of %(domain)s last for %(n)s rounds"),
    N_("run %(run)s finished: no version certified in %(n)s rounds"),
    N_("run %(run)s finished: %(seconds)s s have passed"),
    N_("run %(run)s paused: %(text)s; resume goes on where it broke off"),
    N_("run %(run)s paused: %(text)s; it goes on when that is decided"),
    N_("run %(run)s paused: %(text)s"),
    N_("run %(run)s failed: %(text)s; no resume mends it"),
    N_("run %(run)s stopped: %(text)s; it had been asked to stop"),
    N_("run %(run)s stopped: %(text)s"),
    N_("stop requested: it acts after the current round"),
    N_("target set to %(n)s rounds"),
    N_("directive added: %(text)s"),
    N_("steer queued: %(text)s"),
    N_("steer delivered: %(text)s"),
    N_("steer queued again: the conversation it was given to was broken off"),
    N_("round %(n)s of %(all)s begins"),
    N_("round %(n)s: %(decision)s. %(text)s"),
    N_("the operator proposed nothing"),
    N_("the operator has no idea left"),
    N_("proposed and not built: %(text)s"),
    N_("%(candidate)s is certified as %(version)s"),
    N_("%(candidate)s is the new working head, not yet certified"),
    N_("%(candidate)s refused: %(text)s"),
    N_("%(candidate)s %(decision)s: %(text)s"),
    N_("%(candidate)s %(decision)s"),
    N_("the working line moves to %(candidate)s"),
    N_("job %(job)s started: %(n)s steps for %(name)s"),
    N_("job %(job)s %(state)s after %(seconds)s s: %(text)s"),
    N_("job %(job)s %(state)s after %(seconds)s s"),
    N_("%(n)s gold rows for the base"),
    N_("%(n)s of %(all)s tasks verified in %(names)s; %(rows)s rows replayed"),
    N_("judge agrees with its gold items: %(gold)s of %(n)s gold answers refused, %(null)s null answers passed"),
    N_("v0 is a prompt"),
    N_("v0 is trained on %(n)s rows"),
    N_("dev set %(set)s drawn: %(n)s items; %(head)s answers %(rate)s of them rightly"),
    N_("pre-test of %(name)s: not clearly worse than the head: %(text)s"),
    N_("pre-test of %(name)s: clearly worse than the head: %(text)s"),
    N_("%(wins)s won, %(losses)s lost of %(pairs)s pairs"),
    N_("%(wins)s won, %(losses)s lost of %(pairs)s fresh pairs"),
    N_("%(wins)s won, %(losses)s lost of %(pairs)s fresh pairs, log e %(log_e)s against %(threshold)s"),
    N_("diagnosis: %(names)s"),
    N_("%(kind)s passes %(candidate)s: %(text)s"),
    N_("%(kind)s rejects %(candidate)s: %(text)s"),
    N_("control arm: %(blocks)s blocks, %(steps)s steps"),
    N_("control block failed: %(text)s"),
    N_("final gate: no version was certified; v0 scores %(mean)s on %(n)s blind items"),
    N_("final gate: %(version)s confirmed against v0 on %(n)s blind items: %(mean)s against %(base)s"),
    N_("final gate: %(version)s NOT confirmed against v0 on %(n)s blind items: %(mean)s against %(base)s"),
    N_("%(text)s; shown to beat the control arm (%(mean)s)"),
    N_("%(text)s; not shown to beat the control arm (%(mean)s)"),
    N_("approval %(approval)s of %(name)s %(state)s by %(who)s: %(text)s"),
    N_("approval %(approval)s of %(name)s %(state)s by %(who)s"),
    N_("%(candidate)s is shown to beat %(against)s: %(text)s; approval %(approval)s is asked for"),
    N_("%(candidate)s certified as %(version)s against %(against)s: %(text)s"),
    N_("%(candidate)s not certified: %(text)s; the working line goes back"),
    N_("%(candidate)s not shown to beat %(against)s (%(why)s): %(text)s; the working line goes back"),
    N_("certification ended: %(state)s"),
)
"""Texts of events; where two fit, the narrower stands first."""

_patterns = Patterns(EVENTS)


def happened(language: Language, text: str) -> str:
    """The text of an event in that language; as it is where it is of no pattern."""
    if language.tag == ENGLISH.tag:
        return text
    return _patterns.said(language, text) or text
