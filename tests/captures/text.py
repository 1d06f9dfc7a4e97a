"""Small exports of nsys as text.

In a text, `name 0-100` is a range, `*10 2` a kernel of 2 ns that is launched at 10, `+10 2` a copy,
`~ 20-30` a call that waits. A thread is given as @2, a process as #2, a domain as /3, a start of
work as >90, its number as =5, a device and a stream as :1:7, and that the range is registered as !.
"""

import re
from typing import Any

from tests.captures.building import Export

OPTIONS = {"@": "thread", "#": "process", "/": "domain", ">": "start", "=": "number"}
ROW = re.compile(r"(?P<what>.*?)(?: (?P<start>-?\d+)-(?P<end>\d*))?(?P<options>(?: [@#/>=:!]\S*)*)")


def written(text: str, export: Export) -> Export:
    for line in filter(None, map(str.strip, re.split(r"[;\n]", text))):
        row = ROW.fullmatch(line)
        assert row, line
        options: dict[str, Any] = {}
        for option in row["options"].split():
            if option[0] == ":":
                device, stream = option[1:].split(":")
                options |= {"device": int(device), "stream": int(stream)}
            elif option[0] == "!":
                options["registered"] = True
            else:
                options[OPTIONS[option[0]]] = int(option[1:])
        what, start = row["what"], int(row["start"] or 0)
        if what[0] in "*+":
            launch, length = what[1:].split()
            options |= {"kind": "MEMCPY", "copyKind": 1} if what[0] == "+" else {}
            export.work(None if launch == "?" else int(launch), int(length), **options)
        elif what == "~":
            export.wait(start, int(row["end"]), **options)
        else:
            export.range(what, start, int(row["end"]) if row["end"] else None, **options)
    return export
