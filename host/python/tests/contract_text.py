"""What `wit/batch.wit` says of each field and case, in Python's names: what the docstrings here have to say too."""

import re
from pathlib import Path

CONTRACT = Path(__file__).parents[3] / "wit/batch.wit"


def contract_text() -> dict[tuple[str, str], str]:
    """By the names of the record or enum and of its field or case, both as in the contract."""
    text: dict[tuple[str, str], str] = {}
    block, said = "", []
    for line in map(str.strip, CONTRACT.read_text().splitlines()):
        if line.startswith("///"):
            said.append(line.removeprefix("///").strip())
            continue
        if opened := re.fullmatch(r"(?:record|enum|variant) ([\w-]+) \{", line):
            block = opened[1]
        elif line == "}":
            block = ""
        elif member := re.match(r"([\w-]+)[:(,]", line):
            if block and said:
                text[block, member[1]] = in_python(" ".join(said), is_source=member[1] == "source")
        said = []
    return text


def in_python(text: str, is_source: bool) -> str:
    """Where a wait comes from is told by names, which stay as they are."""
    text = re.sub(r"\babsent\b", "`None`", text, flags=re.IGNORECASE)
    return text if is_source else re.sub(r"`[a-z.-]+`", lambda name: NAMES.get(name[0], name[0]), text)


NAMES = {
    "`chat`": "`Chat`",
    "`fault`": "`Faulted`",
    "`max-attempts`": "`max_attempts`",
    "`limits.max-in-flight`": "`Limits.max_in_flight`",
    "`limits.pace`": "`Limits.pace`",
    "`limits.rates`": "`Limits.rates`",
    "`refusal`": "`Refused`",
    "`retry.max-attempts`": "`Retry.max_attempts`",
    "`sent`": "`Sent`",
    "`settings.trace`": "`Settings.trace`",
    "`text`": "`Text`",
}
