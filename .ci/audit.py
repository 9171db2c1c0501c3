"""Looks the packages of lock files up by pip-audit: 1 where one is vulnerable, 0 also where the data can't be reached.

What could not be looked up is said. `python .ci/audit.py LOCK ...`, in an environment with pip-audit.
"""

import json
import subprocess
import sys

OPTIONS = ["--disable-pip", "--require-hashes", "--format", "json", "--progress-spinner", "off"]
UNREACHED = "SKIPPED the audit of"


def main(locks: list[str]) -> int:
    vulnerable = False
    for lock in locks:
        command = [sys.executable, "-m", "pip_audit", *OPTIONS, "-r", lock]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        lines, is_vulnerable = read(lock, done.stdout, done.stderr)
        vulnerable |= is_vulnerable
        print("\n".join(lines))
    return int(vulnerable)


def read(lock: str, out: str, err: str) -> tuple[list[str], bool]:
    """Return what to say of a lock file's audit, and whether a package of it is vulnerable."""
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError):
        reason = err.strip().splitlines()[-1:] or ["no answer"]
        return [f"{UNREACHED} {lock}: {reason[0]}"], False
    found = [(one, flaw) for one in packages for flaw in one.get("vulns", [])]
    lines = [
        f"{lock}: {one['name']} {one['version']} has {flaw['id']}, "
        f"mended in {', '.join(flaw['fix_versions']) or 'no version'}"
        for one, flaw in found
    ]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if unknown:
        lines.append(f"{UNREACHED} {len(unknown)} of {len(packages)} packages of {lock}, {unknown[0]} the first")
    if not lines:
        lines.append(f"{lock}: {len(packages)} packages, none with a known vulnerability")
    return lines, bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
