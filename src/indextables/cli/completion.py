"""Completion scripts for bash, zsh and fish, made from the parser: they start no Python while one types."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from indextables.cli.parser import make_parser

SHELLS: Final = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """Return the script for a shell.

    >>> "complete -F _indextables indextables" in script("bash")
    True
    """
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_commands())


class _Command:
    def __init__(self, parser: argparse.ArgumentParser, summary: str) -> None:
        self.summary = summary
        self.options: dict[str, str] = {}
        self.choices: dict[str, list[str]] = {}
        self.words: list[str] = []
        for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
            names = [name for name in action.option_strings if name.startswith("--")]
            for name in names:
                self.options[name] = (action.help or "").replace("%%", "%")
                if action.choices:
                    self.choices[name] = [str(choice) for choice in action.choices]
            if not action.option_strings and action.choices:
                self.words += [str(choice) for choice in action.choices]


def _commands() -> dict[str, _Command]:
    parser = make_parser()
    (found,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]  # noqa: SLF001
    helps = {choice.dest: choice.help or "" for choice in found._choices_actions}  # noqa: SLF001
    return {name: _Command(sub, helps.get(name, "")) for name, sub in found.choices.items()}


def _bash(commands: Mapping[str, _Command]) -> str:
    cases = []
    for name, command in commands.items():
        choices = "".join(
            f'\n          {option}) COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$cur")); return ;;'
            for option, values in command.choices.items()
        )
        words, plain = " ".join(command.options), " ".join(command.words)
        cases.append(
            f'    {name})\n      case "$prev" in{choices}\n          *) ;;\n      esac\n'
            f'      words="{words}" plain="{plain}" ;;'
        )
    body = "\n".join(cases)
    return f"""\
# bash completion of indextables: source <(indextables completion bash)
_indextables() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" words="" plain=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$cur"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{body}
    *) ;;
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$plain" -- "$cur"))
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _indextables indextables
"""


def _zsh(commands: Mapping[str, _Command]) -> str:
    names = "\n".join(f"    '{name}:{_quoted(command.summary)}'" for name, command in commands.items())
    cases = []
    for name, command in commands.items():
        options = []
        for option, text in command.options.items():
            values = f":value:({' '.join(command.choices[option])})" if option in command.choices else ""
            options.append(f"'{option}[{_quoted(text)}]{values}'")
        words = f"'*:value:({' '.join(command.words)})'" if command.words else "'*:file:_files'"
        cases.append(f"    {name}) _arguments {' '.join(options)} {words} ;;")
    body = "\n".join(cases)
    return f"""\
#compdef indextables
# zsh completion of indextables: source <(indextables completion zsh)
_indextables() {{
  local -a commands
  commands=(
{names}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  words=("${{(@)words[2,-1]}}")
  (( CURRENT-- ))
  case "$command" in
{body}
  esac
}}
compdef _indextables indextables
"""


def _fish(commands: Mapping[str, _Command]) -> str:
    lines = ["# fish completion of indextables: indextables completion fish | source"]
    for name, command in commands.items():
        lines.append(
            f"complete -c indextables -f -n __fish_use_subcommand -a {name} -d '{_quoted(command.summary)}'"
        )
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option, text in command.options.items():
            values = f" -x -a '{' '.join(command.choices[option])}'" if option in command.choices else ""
            lines.append(f"complete -c indextables {seen} -l {option[2:]} -d '{_quoted(text)}'{values}")
        if command.words:
            lines.append(f"complete -c indextables {seen} -f -a '{' '.join(command.words)}'")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return text without what ends a quotation or a description in a shell."""
    return "".join(char for char in text if char not in "'[]:\\")
