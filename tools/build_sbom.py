"""Write the bill of materials of a wheel, as CycloneDX JSON.

Usage: python tools/build_sbom.py OUTPUT dist/*.whl

It lists what pip installs with the wheel, which ``cyclonedx-py`` reads from an environment of its
own, and the two header libraries that the compiled module contains, which no tool can see.
"""

import json
import re
import subprocess
import sys
import tempfile
import venv
from importlib.util import find_spec
from pathlib import Path

from check_wheel import installable

ROOT = Path(__file__).resolve().parent.parent


def linked_libraries() -> list[dict]:
    """Return the components for nanobind and robin_map, with the versions that are built here."""
    spec = find_spec("nanobind")
    if spec is None or spec.origin is None:
        sys.exit("nanobind is not installed: pip install --group build")
    headers = Path(spec.origin).parent
    source = (headers / "ext/robin_map/include/tsl/robin_growth_policy.h").read_text("utf-8")
    robin = ".".join(re.findall(r"#define TSL_RH_VERSION_\w+ (\d+)", source))
    nanobind = re.findall(r'__version__ *= *"(.+)"', Path(spec.origin).read_text("utf-8"))[0]
    return [
        {"type": "library", "bom-ref": f"linked-{name}", "name": name, "version": version,
         "purl": f"pkg:github/{place}@v{version}", "licenses": [{"license": {"id": licence}}],
         "scope": "required"}
        for name, version, place, licence in (
            ("nanobind", nanobind, "wjakob/nanobind", "BSD-3-Clause"),
            ("robin_map", robin, "Tessil/robin-map", "MIT"),
        )
    ]  # fmt: skip


def main() -> None:
    """Write one bill of materials."""
    output, *wheels = sys.argv[1:]
    wheel = installable([Path(name).resolve() for name in wheels])
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        own = ["setuptools", "pip"]  # of the environment itself; setuptools only before 3.12
        subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", *own], check=True)
        text = subprocess.run(
            [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible",
             "--mc-type", "library", "--pyproject", ROOT / "pyproject.toml", python],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    bill = json.loads(text)
    bill["components"] += linked_libraries()
    Path(output).write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
