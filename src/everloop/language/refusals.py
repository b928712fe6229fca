"""Sentences of errors that people meet on pages, marked for translation: errors themselves speak English everywhere.

One that is not here is shown in English, and said to be English.
"""

from __future__ import annotations

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
)
"""What happened, why, or what to do next, as an error has it."""
