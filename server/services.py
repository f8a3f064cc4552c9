"""Builds the objects that the requests of a process share.

Servers, workers and ``serve --check`` build them by the functions of this module.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dal.dynamodb.table import Table
from dal.model.shop_aspects import ShopAspects
from dal.repositories import erasures
from dal.stores import Stores
from features.analytics.exporting import analytics_of
from features.analytics.service import Analytics
from features.aspects.settings import labels_of
from features.invitations.links import LinkGrant, LinkSigner
from features.invitations.model import SCOPE, link_of
from features.invitations.repository import delivered_of
from features.live.brokers import broker_of, check_broker, offers_events
from features.live.log import Log
from features.live.write_rule import Broker
from features.moderation.word_file import moderation_of
from features.moderation.words import Moderation
from features.photos.uploads import PhotoUploads, open_uploads
from features.plans.resolvers import TRACED
from features.plans.settings import has_plans
from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.registration import trusted_documents
from resolvers.change_log import ChangeLog
from resolvers.photo_files import PhotoFiles
from resolvers.selection import ObservedPages
from schema.build import build_schema, printed
from schema.execution.executable_schema import ExecutableSchema
from server.auth.authenticator import Authenticator, SignInCode
from server.auth.claims import ClaimRules, GrantReader
from server.auth.issuer import Issuer
from server.health import probe
from server.local_engine.data_directory import DataDirectory
from server.observability.exposition import check_packages
from server.observability.signals import OFF, Signals, open_signals
from server.settings import Settings

Loading: TypeAlias = Callable[[], tuple[int, int] | None]
"""Returns the number of loaded demo comments and the number of all demo comments, or None if no
load is running."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The objects that the requests of a process share."""

    stores: Stores
    table: Table
    schema: ExecutableSchema
    documents: TrustedDocuments
    authenticator: Authenticator
    broker: Broker
    """Delivers the writes of all processes to subscribers."""
    analytics: Analytics
    moderation: Moderation
    uploads: PhotoUploads | None = None
    """Signs the forms by which browsers upload photos to a bucket. None without a bucket."""
    signals: Signals = OFF
    directory: DataDirectory | None = None
    """The embedded engine's data directory. Readiness checks that its data files exist."""
    loading: Loading | None = None
    """The progress of loading the demo data."""
    code: SignInCode | None = None
    """The code with which a visitor signs in to the demo."""

    def may_have_trends(self) -> bool:
        """Return whether the server may have data for trends."""
        may_be_filled: Callable[[], bool] = bool
        may_be_filled = self.analytics.may_be_filled  # can be deleted with its feature
        return may_be_filled()

    def for_requests(self, settings: Settings) -> Mapping[type[Any], Any]:
        """Return the objects that resolvers find in ``Context.services``, by type."""
        found: dict[type[Any], Any] = {Analytics: self.analytics, Moderation: self.moderation}
        if self.uploads is not None:
            found[PhotoUploads] = found[PhotoFiles] = self.uploads
        found[ObservedPages] = TRACED
        found[LinkSigner] = LinkSigner(self.authenticator.signed, settings.public_url)
        if settings.aspects is not None:
            found[ShopAspects] = labels_of(settings.aspects)
        if offers_events(settings):
            found[Log] = found[ChangeLog] = self.broker.log
        return found


def services_of(
    settings: Settings,
    table: Table,
    authenticator: Authenticator,
    *,
    signals: Signals = OFF,
) -> Services:
    """Return the services that need no connection besides the table's.

    Raises CommandError if a file that the settings name is invalid.
    """
    broker = broker_of(settings, signals.metrics)
    schema = schema_of(settings, signals.schema)
    return Services(
        stores=Stores(
            table, rules=[broker], delivered=delivered_of(invitations=settings.invitations)
        ),
        table=table,
        schema=schema,
        documents=trusted_documents(settings, schema),
        authenticator=authenticator,
        broker=broker,
        analytics=analytics_of(settings),
        moderation=moderation_of(settings),
        signals=signals,
    )


@asynccontextmanager
async def open_services(
    settings: Settings,
    table: Table,
    secret: Callable[[], str | None],
    loading: Loading | None = None,
    code: SignInCode | None = None,
    *,
    background: bool = True,
) -> AsyncIterator[Services]:
    """Yield the services of a process, with their connections and background tasks.

    ``secret`` returns the secret that verifies JWTs. Without ``background``, no task is started.
    """
    authenticator = authenticator_of(settings, secret)
    async with (
        open_signals(settings) as signals,
        open_uploads(settings.upload_bucket, settings.upload_url) as uploads,
    ):
        services = replace(
            services_of(settings, table, authenticator, signals=signals),
            uploads=uploads,
            directory=DataDirectory(settings.data_dir) if settings.embedded else None,
            loading=loading,
            code=code,
        )
        services.documents.add_stored(await services.stores.documents.all())
        if not background:
            try:
                yield services
            finally:
                await services.analytics.aclose()
            return
        for work in services.stores.background:
            work.start()
        watching = [
            asyncio.create_task(probe(table)),
            asyncio.create_task(erasures.watch(table, services.broker.erased)),
        ]
        if authenticator.issuer is not None:
            watching.append(asyncio.create_task(authenticator.issuer.warn_if_unavailable()))
        services.analytics.start()
        try:
            await services.broker.start()
            yield services
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            await services.analytics.aclose()
            await services.broker.close()


def schema_of(
    settings: Settings, kind: type[ExecutableSchema] = ExecutableSchema
) -> ExecutableSchema:
    """Return the GraphQL schema that a server with these settings has."""
    return build_schema(
        introspection=settings.introspection,
        federation=settings.federation,
        explain=has_plans(settings, demo=settings.demo),
        compiles=settings.compiles,
        kind=kind,
    )


def printed_schema(settings: Settings) -> str:
    """Return the schema in GraphQL's schema definition language."""
    return printed(federation=settings.federation)


def _check_manifests(settings: Settings) -> None:
    if settings.documents:
        trusted_documents(settings, schema_of(settings))


OPTION_CHECKS: Sequence[Callable[[Settings], object]] = (check_broker, check_packages)
"""Functions that raise CommandError if an option is invalid, or needs a missing package."""

FILE_CHECKS: Sequence[Callable[[Settings], object]] = (moderation_of, _check_manifests)
"""Functions that raise CommandError if a file that the settings name is invalid."""


GRANTS: Mapping[str, GrantReader] = {SCOPE: lambda claims: LinkGrant(link_of(claims))}
"""What reads the grants in JWTs of this server, by scope."""


def authenticator_of(settings: Settings, secret: Callable[[], str | None]) -> Authenticator:
    """Return the object that verifies JWTs by the rules of the settings."""
    issuer = None
    if settings.jwt_issuer is not None or settings.jwks_url is not None:
        issuer = Issuer(settings.jwt_issuer, settings.jwks_url)
    role_names: dict[str, frozenset[str]] = {}
    for theirs, ours in (role.rsplit("=", 1) for role in settings.jwt_roles):
        role_names[theirs] = role_names.get(theirs, frozenset()) | {ours}
    rules = ClaimRules(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        names=settings.jwt_name_claims,
        roles=settings.jwt_roles_claim,
        role_names=role_names,
        grants=GRANTS,
    )
    return Authenticator(secret=secret, issuer=issuer, rules=rules)
