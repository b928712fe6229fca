"""``el completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes commands in a shell.

    bash: eval "$(el completion bash)" in ~/.bashrc; zsh the same in ~/.zshrc; fish: el completion fish | source
    """
    from click.shell_completion import get_completion_class

    from everloop.cli.main import el

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(el, {}, "el", "_EL_COMPLETE").source())
