"""``marginalia serve --check``: checks the settings, and the files and services that they name."""

import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from dal.counts.mode import MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.errors import NoTableError
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.table.definition import differences, listed
from dal.table.errors import DalError
from features.analytics import exporting as analytics
from features.live import brokers as live
from features.moderation import word_file
from features.photos import bucket_check as photos
from features.plans import settings as plans
from features.trusted_documents.registration import documents_finding, manifests_finding
from server.auth.issuer import Issuer, KeysUnavailableError
from server.auth.secret import FILE_NAME, secret_source
from server.errors import CommandError
from server.findings import Finding, danger, ok, warning
from server.http.middleware import is_loopback
from server.local_engine.data_directory import DataDirectory
from server.local_engine.storage import open_store
from server.services import schema_of
from server.settings import Settings

_OLD_BACKUP = timedelta(days=2)
"""The age above which a backup is reported as old. ``marginalia-backup.timer`` makes one each
day."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


async def findings(
    settings: Settings, unknown_variables: Sequence[str] = ()
) -> AsyncIterator[Finding]:
    """Yield the findings. ``unknown_variables`` are sentences about environment variables.

    The checks write no rows. On the embedded engine, they remove other users' permissions on the
    data files, as a server does. If the engine has data but does not run, they start the engine,
    and stop it at the end.
    """
    for sentence in unknown_variables:
        # The variable may be a misspelt setting that would protect the server.
        yield danger("variables", sentence)
    yield transport(settings)
    yield hosts(settings)
    yield authentication(settings)
    yield await issuer(settings)
    if settings.documents:
        yield manifests_finding(settings, schema_of(settings))
    if settings.moderation_words is not None:
        yield word_file.checked(settings)
    yield permissions(settings)
    for one in exposure(settings):
        yield one
    async for one in store(settings):
        yield one
    yield backup(settings)
    yield await live.checked(settings)
    yield await analytics.checked(settings)
    yield await photos.checked(settings)


def is_public(settings: Settings) -> bool:
    """Return whether the settings let other machines reach the server, directly or by a proxy."""
    named = urlsplit(settings.public_url or "").hostname
    names = [settings.host, *filter(None, [named]), *settings.allowed_hosts]
    return not all(is_loopback(name.strip("[]")) for name in names)


def transport(settings: Settings) -> Finding:
    """Check that the settings name a proxy with TLS, if other machines can reach the server."""
    if not is_public(settings):
        return ok("TLS", f"not needed: the server listens only on {settings.host}.")
    if not (settings.public_url or "").startswith("https:"):
        return danger(
            "TLS",
            "JWTs would be sent without encryption: put a proxy with TLS in front of the server, "
            "and set its address with --public-url https://…",
        )
    if not is_loopback(settings.host) and all(is_loopback(one) for one in settings.trusted_proxies):
        return warning(
            "TLS",
            "the address of the proxy is not known, so all clients behind it share one rate limit: "
            "set the address with --trusted-proxy.",
        )
    return ok("TLS", f"a proxy serves {settings.public_url}.")


def hosts(settings: Settings) -> Finding:
    """Check which host names the server allows in the Host header of requests."""
    if "*" in settings.allowed_hosts:
        return warning(
            "hosts",
            "all host names are allowed: set the names of your server with --public-url or "
            "--allowed-host.",
        )
    if not is_public(settings) or settings.public_url or settings.allowed_hosts:
        named = [settings.public_url, *settings.allowed_hosts]
        return ok("hosts", ", ".join([*filter(None, named), "loopback names"]) + ".")
    return warning(
        "hosts",
        "only requests to the server's IP address are allowed: set the address that browsers use "
        "with --public-url.",
    )


def authentication(settings: Settings) -> Finding:
    """Check how JWTs are verified: with a secret, or with the keys of an issuer."""
    try:
        secret = secret_source(settings.jwt_secret, settings.data_dir)()
    except CommandError as error:
        return danger("JWTs", str(error))
    if settings.jwks_url is not None and settings.jwt_issuer is None:
        return warning("JWTs", "the claim 'iss' is not checked: name the issuer with --jwt-issuer.")
    if settings.jwt_issuer is not None:
        return ok("JWTs", f"{settings.jwt_issuer} issues them for {settings.jwt_audience}.")
    if secret is None:
        return warning(
            "JWTs",
            "no JWT can be verified: set MARGINALIA_JWT_SECRET or --jwt-issuer, or run `marginalia "
            "token` after the server has started.",
        )
    source = f"in {settings.data_dir / FILE_NAME}" if settings.jwt_secret is None else "set"
    return ok("JWTs", f"the secret is {source} and has {len(secret.encode())} bytes.")


async def issuer(settings: Settings) -> Finding:
    """Check that the issuer's keys can be fetched, by HTTPS if they are on another machine."""
    if settings.jwt_issuer is None and settings.jwks_url is None:
        return ok("issuer", "no issuer is configured.")
    for option, url in (("--jwt-issuer", settings.jwt_issuer), ("--jwks-url", settings.jwks_url)):
        parts = urlsplit(url or "")
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            return danger(
                "issuer",
                f"{option} {url} is not encrypted, so an attacker in the network could replace the "
                "keys and sign in as any user: set an address with https:.",
            )
    try:
        await Issuer(settings.jwt_issuer, settings.jwks_url).fetch()
    except KeysUnavailableError:
        return danger("issuer", "its keys cannot be fetched or are invalid: read the log.")
    return ok("issuer", "its keys can be fetched.")


def permissions(settings: Settings) -> Finding:
    """Check that other users of the machine cannot read the secret and the data."""
    secret = settings.data_dir / FILE_NAME
    try:
        shown = settings.jwt_secret is None and _is_open(secret)
        data = settings.data_dir.glob("marginalia.*") if settings.embedded else ()
        opened = [one for one in data if _is_open(one)]
    except OSError as error:
        return warning(
            "files", f"they cannot be read ({error}): run this command as the user of the server."
        )
    if shown:
        return danger(
            "files",
            f"other users of this machine can read the secret: run `chmod 600 {secret}` as the "
            "file's owner, or make a new secret.",
        )
    if opened:
        return warning(
            "files",
            f"other users of this machine can read {opened[0]}: this command and each start of the "
            "server remove the permissions of other users.",
        )
    return ok("files", "other users of this machine cannot read the secret and the data.")


def _is_open(path: Path) -> bool:
    """Return whether other users have permissions on the file and on its directory."""
    return path.exists() and all(one.stat().st_mode & _OTHERS for one in (path, path.parent))


def exposure(settings: Settings) -> Iterator[Finding]:
    """Check the demo, plans, costs and introspection, which may be dangerous on a public server."""
    public = is_public(settings)
    if public and settings.demo:
        yield danger(
            "demo",
            "every visitor may write, moderate and reply as a user of the demo: add --no-demo.",
        )
    else:
        yield ok("demo", "on, only for this machine." if settings.demo else "off.")
    yield plans.checked(settings, demo=settings.demo, public=public)
    shown = settings.show_cost
    if plans.has_plans(settings, demo=settings.demo):
        shown = True
    who = "every client sees those of operations on public data" if shown else "only staff see them"
    yield ok("costs", f"{who}.")
    if public and settings.introspection:
        yield warning(
            "introspection",
            "every client can query the schema: add --no-introspection if only your front ends use "
            "the API.",
        )
    elif public and settings.serve_schema:
        yield warning("introspection", "off, but every client can read /schema.graphql.")
    else:
        yield ok("introspection", "on." if settings.introspection else "off.")


async def store(settings: Settings) -> AsyncIterator[Finding]:
    """Check the table, its indexes, its counts and its documents."""
    directory = DataDirectory(settings.data_dir)
    try:
        directory.check_data()
        if settings.embedded and not directory.database.exists():
            yield ok("table", f"the server creates it in {directory.path} at its first start.")
            return
        async with open_store(settings, share=True, usable=False) as opened:
            yield await indexes(opened.table)
            yield await counts(opened.table)
            yield await documents_finding(settings, opened.table)
    except NoTableError:
        yield danger("table", "it does not exist: run `marginalia table create`.")
    except (CommandError, DalError) as error:
        yield danger("table", " ".join(str(error).split()))
    except OSError as error:
        yield warning(
            "table", f"it cannot be read ({error}): run this command as the user of the server."
        )


async def indexes(table: Table) -> Finding:
    """Check that the table has all indexes, and that DynamoDB has filled them."""
    description = await admin.describe(table)
    found = differences(description, INDEXES)
    # ``differences`` also lists the indexes that DynamoDB is still building. They are not a danger.
    building = [
        one["IndexName"]
        for one in description.get("GlobalSecondaryIndexes", [])
        if one.get("IndexStatus", "ACTIVE") != "ACTIVE" or one.get("Backfilling")
    ]
    if wrong := [one for one in (*found.lacking, *found.differing) if one not in building]:
        return danger(
            "table",
            f"{listed(wrong)}: missing, or the keys or attributes differ. Run `marginalia "
            "table upgrade`.",
        )
    if building:
        return warning(
            "table",
            f"DynamoDB still fills {listed(building)}: servers cannot start before it has "
            "finished.",
        )
    return ok("table", f"{table.name} has all of its indexes.")


async def counts(table: Table) -> Finding:
    """Check which program updates the counts of comments, and whether the counts are complete."""
    state = await MaintenanceStore(table).read()
    if state.copied:
        return warning(
            "counts",
            "the table is a copy, so the counts may be wrong: run `marginalia stats rebuild`.",
        )
    if state.rebuilding or state.upgrading:
        return warning(
            "counts",
            "a rebuild or an upgrade is not finished: wait until it ends, or run it again.",
        )
    if not state.counts_in_writes:
        if not state.counted:
            return warning(
                "counts",
                f"there are no counts: run `marginalia stats rebuild --mode {state.mode}`.",
            )
        from dal.composition import COUNTING_MODES  # noqa: PLC0415 - a server does not need them

        return ok("counts", f"{COUNTING_MODES[state.mode].updated}, and must always run.")
    if not state.complete:
        return warning("counts", "not all comments are counted: run `marginalia stats rebuild`.")
    return ok("counts", "they include all comments. Each write of a server updates them.")


def backup(settings: Settings) -> Finding:
    """Report the last `marginalia backup`. Warn if it is old or missing."""
    if settings.embedded:
        directory = DataDirectory(settings.data_dir)
        last = directory.last_backup()
        if last is not None:
            made = f"the last backup was made at {last.at:%Y-%m-%d %H:%M} UTC: {last.file}"
            if datetime.now(UTC) - last.at > _OLD_BACKUP:
                return warning(
                    "backup", f"{made}. Make one every day: run `marginalia backup FILE`."
                )
            return ok("backup", f"{made}.")
        try:
            directory.require_data()
        except CommandError:
            return ok("backup", "there is no data yet.")
        except OSError as error:
            return warning("backup", f"the data directory cannot be read ({error}).")
        return warning("backup", "there is no backup of this data: run `marginalia backup FILE`.")
    return ok("backup", "not known here: check DynamoDB's backups of the table.")
