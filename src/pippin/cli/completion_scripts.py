"""Completion written for a shell: what may follow, from the commands as they declare it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pippin.cli.completion import Completed, Offer

_BASH = """\
# pippin in bash: source <(pippin completion bash)
_pippin() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= words= flags= several= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
            --import) ((i++)) ;;
            -*) ;;
            *) command=${{COMP_WORDS[i]}}; break ;;
        esac
    done
    case $command in
        "") words={commands} ;;
{cases}
    esac
    COMPREPLY=()
    if [[ $words == @files ]]; then
        COMPREPLY=($(compgen -f -- "$cur"))
    elif [[ -n $several && $cur == *,* ]]; then
        COMPREPLY=($(compgen -P "${{cur%,*}}," -W "$words" -- "${{cur##*,}}"))
    elif [[ -z $words && $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}}
complete -o default -o bashdefault -F _pippin pippin"""


def bash(commands: Sequence[Completed]) -> str:
    """The script for bash."""
    names = shlex.quote(" ".join(["--help", "--version", *(c.name for c in commands)]))
    return _BASH.format(commands=names, cases="\n".join(_bash_case(command) for command in commands))


def _bash_case(command: Completed) -> str:
    flags = shlex.quote(" ".join(name for flag in command.flags for name in flag.names))
    inner = []
    for flag in command.flags:
        if flag.takes:
            offered = shlex.quote(" ".join(flag.words)) if flag.words else "@files"
            several = " several=1" if flag.several else ""
            inner.append(f"                {'|'.join(flag.names)}) words={offered}{several} ;;")
    arguments = f"[[ $cur == -* ]] || words={shlex.quote(' '.join(command.words))}" if command.words else ":"
    return "\n".join([
        f"        {command.name})", f"            flags={flags}", "            case $prev in", *inner,
        f"                *) {arguments} ;;", "            esac ;;",
    ])  # fmt: skip


def zsh(commands: Sequence[Completed]) -> str:
    """The script for zsh."""
    listed = "\n".join(f"    {_zsh_quoted(f'{c.name}:{c.what}')}" for c in commands)
    functions = "\n\n".join(_zsh_function(command) for command in commands)
    return (
        f"#compdef pippin\n# pippin in zsh: write this to a file _pippin in a folder of $fpath\n\n{functions}\n\n"
        "_pippin() {\n  local -a commands\n  commands=(\n"
        f"{listed}\n  )\n"
        "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
        '  local command="_pippin_${words[2]//-/_}"\n  shift words\n  (( CURRENT-- ))\n'
        '  (( $+functions[$command] )) && $command\n}\n\n_pippin "$@"'
    )


def _zsh_function(command: Completed) -> str:
    specs = [_zsh_flag(flag) for flag in command.flags]
    place = f"({' '.join(command.words)})" if command.words else "_files"
    specs.append(_zsh_quoted(f"*: :{place}"))
    body = " \\\n    ".join(specs)
    return f"_pippin_{command.name.replace('-', '_')}() {{\n  _arguments -s \\\n    {body}\n}}"


def _zsh_flag(flag: Offer) -> str:
    words = flag.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = ""
    if flag.takes:
        names = " ".join(flag.words)
        value = ": :" + (f"_sequence compadd - {names}" if flag.several else f"({names})" if names else "_files")
    names = flag.names[0] if len(flag.names) == 1 else "{" + ",".join(flag.names) + "}"
    return ("'*'" if flag.several else "") + names + _zsh_quoted(f"[{words}]{value}")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish(commands: Sequence[Completed]) -> str:
    """The script for fish."""
    lines = ["# pippin in fish: write this to ~/.config/fish/completions/pippin.fish"]
    for command in commands:
        start = "complete -c pippin"
        lines.append(f"{start} -n __fish_use_subcommand -f -a {command.name} -d {_fish_quoted(command.what)}")
        here = f"{start} -n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"{here} {_fish_flag(flag)}" for flag in command.flags]
        if command.words:
            lines.append(f"{here} -a {_fish_quoted(' '.join(command.words))}")
    return "\n".join(lines)


def _fish_flag(flag: Offer) -> str:
    spelled = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    words = " ".join(flag.words)
    value = []
    if flag.takes and words:
        value = ["-x", "-a", _fish_quoted(f"(__fish_append , {words})" if flag.several else words)]
    elif flag.takes:
        value = ["-r", "-F"]
    return " ".join([*spelled, *value, "-d", _fish_quoted(flag.help)])


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
