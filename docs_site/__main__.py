"""Build the site into build/site: stage the pages, have Zensical write them, check the outcome."""

import subprocess
import sys

from docs_site.built import faults
from docs_site.staging import ROOT, stage

ZENSICAL = ROOT / ".venv/site/bin/zensical"
BUILD = ROOT / "build"


def main() -> None:
    """Exit with 1 where Zensical warns of something or a link leads nowhere."""
    if not ZENSICAL.is_file():
        sys.exit(
            "Zensical, which builds the site, is not installed: run 'make site', which does it."
        )
    configuration = stage(BUILD)
    command = [str(ZENSICAL), "build", "--strict", "--config-file", configuration.name]
    built = subprocess.run(command, cwd=BUILD, check=False)  # noqa: S603 - a command of our own
    if built.returncode:
        sys.exit("The site was not built: mend what is named above.")
    found = list(faults(BUILD / "site"))
    if found:
        sys.exit("\n".join([*found, "The site was built, and is wrong in these places."]))


if __name__ == "__main__":
    main()
