"""`kiln top`: shows the daemon's clients, queue, compilations and hit rate, live."""

import os
import sys
import time

from .. import regular_file
from .common import failure, home, print_json, session, size
from .options import parse, words

ROUND_SECONDS = 1.0


def main(argv):
    options, rest = parse(argv, {"--json": False, "--once": False})
    words(rest, "top")
    source = session()
    try:
        previous = None
        while True:
            now = look(source)
            if options["json"]:
                print_json(now)
                sys.stdout.flush()
            else:
                show(now, previous, live=not options["once"])
            if options["once"]:
                return 0
            previous = now
            time.sleep(ROUND_SECONDS)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        raise
    except (RuntimeError, ConnectionError, TimeoutError) as error:
        if "no daemon listens" in str(error):
            # Not an error of the daemon, so the text says when one will be there.
            return failure("no daemon runs here; the first program that compiles starts it")
        return failure(str(error))


def look(source):
    """The current figures, as `kiln top --json` prints them."""
    metrics = source.daemon_metrics()
    # As many as fit on a screen of 40 lines below the other figures.
    recent = source.daemon_recent(limit=12)
    slowest = source.daemon_recent(limit=5, slowest=True)
    hits = metrics["kiln_cache_hits_total"]
    misses = metrics["kiln_cache_misses_total"]
    asked = sum(hits.values()) + sum(misses.values())
    return {
        "time": time.time(),
        "uptime_seconds": time.time() - metrics["kiln_start_time_seconds"][""],
        "hits": hits,
        "misses": misses,
        # None rather than 0 before the first look-up: nothing has missed yet.
        "hit_rate": sum(hits.values()) / asked if asked else None,
        "lookup_seconds": _quantiles(metrics["kiln_request_seconds"].get("lookup")),
        "compile_seconds": _quantiles(metrics["kiln_compile_seconds"].get("")),
        "queue": int(metrics["kiln_queue_jobs"][""]),
        "workers": {name: int(count) for name, count in metrics["kiln_workers"].items()},
        "compiles": metrics["kiln_compiles_total"],
        "worker_deaths": int(metrics["kiln_worker_deaths_total"][""]),
        "fallbacks": int(metrics["kiln_fallbacks_total"][""]),
        "entries": metrics["kiln_cache_entries"],
        "bytes": metrics["kiln_cache_bytes"],
        "resident_bytes": int(metrics["kiln_resident_bytes"][""]),
        "requests": sum(metrics["kiln_requests_total"].get(n, 0) for n in ("lookup", "compile")),
        "clients": recent["clients"],
        "recent": recent["requests"],
        "slowest": slowest["requests"],
        "dashboard": _dashboard(metrics),
    }


def _dashboard(metrics):
    """The dashboard's address, including its secret; "" if the daemon has no dashboard."""
    from .. import _native

    # The file of an earlier dashboard may still be there; its address no longer answers.
    if not metrics["kiln_front_serves"].get("kilnd-web"):
        return ""
    try:
        path = _native.dashboard_path(home())
        with open(path, encoding="ascii", opener=regular_file.opened) as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def _quantiles(histogram):
    """{"p50", "p99", "count"} of a histogram, by the upper bounds of its buckets."""
    if not histogram or not histogram["count"]:
        return {"p50": None, "p99": None, "count": 0}

    def quantile(fraction):
        # Buckets are cumulative, as Prometheus wants them.
        for bound, below in zip(histogram["bounds"], histogram["buckets"]):
            if below >= fraction * histogram["count"]:
                return bound
        # Beyond the last bound: it is the best that is known, and too low.
        return histogram["bounds"][-1]

    return {"p50": quantile(0.5), "p99": quantile(0.99), "count": histogram["count"]}


def show(now, previous, live):
    """Prints one screen of figures, as many rows as fit."""
    try:
        width, height = os.get_terminal_size()
    except OSError:
        width, height = 100, 40
    lines = list(_lines(now, previous))
    if live and sys.stdout.isatty():
        # The last row stays free for the cursor, otherwise the screen would scroll.
        lines = lines[: height - 1]
        sys.stdout.write("\x1b[H\x1b[J")
    # Names come from programs: do not let control characters move the cursor.
    text = "\n".join("".join(c if c.isprintable() else "?" for c in line)[:width] for line in lines)
    print(text, flush=True)


def _lines(now, previous):
    rate = f"{100 * now['hit_rate']:.1f} %" if now["hit_rate"] is not None else "-"
    per_second = ""
    if previous:
        # The clock may have been set back between two rounds.
        seconds = max(1e-3, now["time"] - previous["time"])
        per_second = f"   {(now['requests'] - previous['requests']) / seconds:.0f} requests/s"
    yield f"kilnd, up {duration(now['uptime_seconds'])}{per_second}"
    if now["dashboard"]:
        yield f"dashboard {now['dashboard']}"
    yield ""
    yield f"hit rate {rate}: {_counts(now['hits'])}"
    yield f"misses   {_counts(now['misses'])}"
    looked, compiled = now["lookup_seconds"], now["compile_seconds"]
    yield (f"look-up  {_spread(looked)}; compilation {_spread(compiled)} (of {compiled['count']})")
    workers = now["workers"]
    yield (
        f"queue    {now['queue']} waiting, {workers.get('busy', 0)} of "
        f"{sum(workers.values())} workers busy, {now['worker_deaths']} deaths, "
        f"{now['fallbacks']} fallbacks of clients"
    )
    tiers = ", ".join(
        f"{tier} {size(now['bytes'].get(tier, 0))} in {int(count)} entries"
        for tier, count in sorted(now["entries"].items())
    )
    yield f"cache    {tiers}; the daemon itself {size(now['resident_bytes'])}"
    yield ""
    yield f"{'CLIENT':30} {'CONN':>5} {'RUN':>5} {'REQUESTS':>9}"
    for client in sorted(now["clients"], key=lambda c: -c["requests"])[:8]:
        yield (
            f"{client['name'][:30]:30} {client['connections']:5} {client['running']:5} "
            f"{client['requests']:9}"
        )
    yield ""
    yield f"{'WHEN':8} {'KERNEL':40} {'OUTCOME':12} {'TIME':>9}  CLIENT"
    for request in now["recent"]:
        when = time.strftime("%H:%M:%S", time.localtime(request["time"]))
        yield (
            f"{when} {request['kernel'][:40]:40} {request['outcome'][:12]:12} "
            f"{duration(request['seconds']):>9}  {request['client']}"
        )


def _counts(by_label):
    named = sorted(by_label.items(), key=lambda item: -item[1])
    return ", ".join(f"{label} {int(count)}" for label, count in named) or "none"


def _spread(seconds):
    if not seconds["count"]:
        return "-"
    return f"p50 ≤ {duration(seconds['p50'])}, p99 ≤ {duration(seconds['p99'])}"


def duration(seconds):
    """Formats a duration: "25 µs", "1.2 s", "3 h"."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (120, 1, "s")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    for limit, factor, unit in ((7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / factor:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"
