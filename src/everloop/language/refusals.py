"""Sentences of errors that people meet on pages, marked for translation: errors themselves speak English everywhere.

One that is not here is shown in English, and said to be English.
"""

from __future__ import annotations

from everloop.language.catalogue import ENGLISH, Language
from everloop.language.patterns import Patterns
from everloop.language.vocabulary import N_

SENTENCES = (
    N_("you are not signed in"),
    N_("Sign in, then try again"),
    N_("the e-mail address or the password is wrong"),
    N_("Try again, or ask an Admin for a link"),
    N_("this link was used already, or is too old"),
    N_("Ask for another one"),
    N_("too many people sign in at this moment"),
    N_("too many requests"),
    N_("this page is out of date"),
    N_("you signed in or out since"),
    N_("Open it again"),
    N_("this form comes from another site"),
    N_("Open the page here and try again; behind a proxy, set EVERLOOP_PUBLIC_URL"),
    N_("this project is not known"),
    N_("See your projects on the first page"),
    N_("you are no member of this project"),
    N_("Ask one of its Admins"),
    N_("you are a member of no project"),
    N_("Ask an Admin to make you one, then open this again"),
    N_("this is not the code of that command line"),
    N_("there is no such sign-in"),
    N_("Start it again from the command line"),
    N_("this sign-in has expired"),
    N_("this sign-in was decided already"),
    N_("the sign-in could not be verified"),
    N_("Sign in again"),
    N_("this sign-in was not begun in this browser, or too long ago"),
    N_("no identity provider is set up here"),
    N_("the identity provider cannot be reached or does not answer as it should"),
    N_("the identity provider did not let you in"),
    N_("Sign in again, or ask its owner"),
    N_("this cursor is not of this list"),
    N_("Begin again without one"),
    N_("this group of runs is not known"),
    N_("there is nothing to draw yet"),
    N_("there is nothing at this address"),
    N_("See `el job run list`, or GET /v1/agent-runs/rsi/runs"),
    N_("List the checkpoints there are"),
    N_("this checkpoint has no such file"),
    N_("See the files that the list names"),
    N_("the record of this run cannot be read, so nothing is known of what it has shown"),
    N_("The server's log has the reason; other runs are not affected"),
    N_("the database does not answer"),
    N_("Start it again"),
    N_("only a signed-in person lets a command line in"),
    N_("Sign in on the page it shows"),
    N_("Use a key or an account that has it; see docs/keys-and-roles.md"),
    N_("only a person who signed in has a page of their own"),
    N_("this person is not known any more"),
    N_("this account may not use the project"),
    N_("Ask its owner to give you a role"),
    N_("there is no such picture"),
    N_("there is no such report"),
    N_("rounds must be a whole number from 1"),
    N_("page must be a whole number from 1"),
    N_("this is no form"),
    N_("the form cannot be read"),
    N_("the form is too long"),
    N_("the form holds a zero byte"),
    N_("Use the page"),
    N_("the identity provider names you in a way that is too long"),
)
"""What happened, why, or what to do next, as an error has it."""

PATTERNS = (
    N_("this address does not take %(method)s"),
    N_("run %(run)s is not known"),
    N_("job %(job)s is not known"),
    N_("checkpoint %(name)s is not known"),
    N_("the record of run %(run)s cannot be read"),
    N_("the limit is %(n)s a minute"),
    N_("Wait %(n)s seconds"),
    N_("it is %(state)s"),
    N_("this needs the permission %(permission)s"),
    N_("%(who)s lacks it"),
    N_("Known: %(names)s"),
    N_("There are %(names)s"),
    N_("Pictures: %(names)s; as svg or csv"),
    N_("Reports: %(names)s"),
    N_("got %(names)s"),
    N_("this job has no tab %(tab)s"),
    N_("language %(tag)s is not known"),
    N_("it takes %(n)s bytes"),
)
"""Sentences with something of the moment in them."""

_patterns = Patterns((*SENTENCES, *PATTERNS))


def refusal(language: Language, text: str) -> str:
    """A sentence of an error in that language; as it is where it is none of these."""
    if language.tag == ENGLISH.tag:
        return text
    return _patterns.said(language, text) or text
