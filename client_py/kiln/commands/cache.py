"""`kiln cache`: what the cache holds."""

import os

from .common import failure, home, is_agreed, print_json, session, size, usage_error


def main(argv):
    action, options = (argv[0], argv[1:]) if argv else ("", [])
    if action == "path" and not options:
        print(os.path.join(home(), "cache"))
        return 0
    if action == "stats" and set(options) <= {"--json"}:
        stats = session().daemon_stats()
        print_json(stats) if options else _print_stats(stats)
        return 0
    if action == "clear" and set(options) <= {"-y", "--yes"}:
        if not options and not is_agreed(f"Delete everything in {os.path.join(home(), 'cache')}?"):
            return 1
        try:
            cleared = session().clear_cache()
        except RuntimeError as error:
            return failure(error)
        import shutil

        # What is known of kernels is of no use without them.
        shutil.rmtree(os.path.join(home(), "warm"), ignore_errors=True)
        print(f"cleared {cleared['entries']} entries, {size(cleared['bytes'])}")
        return 0
    return usage_error("cache what?", "cache")


def _print_stats(stats):
    by_tier = stats.get("hits_by_tier") or {}
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(by_tier.items()))
    rows = [
        ("cache", os.path.join(home(), "cache")),
        ("entries", f"{stats['entries']}, {size(stats['bytes'])}"),
        ("hits", f"{stats['hits']}" + (f" ({tiers})" if tiers else "")),
        ("misses", stats["misses"]),
        ("compiles", stats["compiles"]),
        ("seconds saved", f"{stats['seconds_saved']:.1f}"),
    ]
    rows += [
        (name.replace("_", " "), stats[name])
        for name in ("evictions", "corrupt", "worker_deaths", "errors")
        if stats.get(name)
    ]
    for name, value in rows:
        print(f"{name:14} {value}")
