"""Creates all repositories of a table, and the objects that they share."""

from collections.abc import Sequence

from dal.counts.boards import Boards
from dal.counts.deferred import DeferredWork
from dal.counts.mode import MaintenanceStore
from dal.counts.reader import StatisticsReader
from dal.dynamodb.table import Table
from dal.repositories.comments import CommentRepository
from dal.repositories.leaderboard import LeaderboardRepository
from dal.repositories.markers import MarkerRepository
from dal.repositories.orders import Delivered, OrderRepository, nothing_else
from dal.repositories.organizations import OrganizationRepository
from dal.repositories.products import ProductRepository
from dal.repositories.standings import StandingRepository
from dal.repositories.tickets import TicketRepository
from dal.repositories.users import UserRepository
from dal.writes.changes import WriteRule
from dal.writes.comments import CommentWriter
from features.groups.repository import GroupRepository
from features.invitations.repository import InvitationRepository
from features.moderation.cases import CaseRule
from features.moderation.report_repository import ReportRepository
from features.moderation.repository import BlockRepository, ModerationRepository
from features.one_per_person.model import SWITCH
from features.one_per_person.write_rule import OnePerPersonRule
from features.trusted_documents.repository import DocumentRepository
from features.votes.folds import HelpfulFolds, VoteRule
from features.votes.repository import VoteRepository


class Stores:
    """The repositories of one table.

    ``rules`` are the last rules of each write of a comment. ``delivered`` adds items to deliveries.
    """

    def __init__(
        self,
        table: Table,
        rules: Sequence[WriteRule] = (),
        delivered: Delivered = nothing_else,
    ) -> None:
        self.table = table
        self.maintenance = MaintenanceStore(table, [SWITCH])
        self.boards = Boards(table)
        self.folds = HelpfulFolds(table)
        self.statistics = StatisticsReader(table.query, self.boards.seen)
        self.writer = CommentWriter(
            table,
            self.maintenance,
            [
                self.statistics,
                self.boards,
                CaseRule(table),
                OnePerPersonRule(table),
                VoteRule(table, self.folds),
                *rules,
            ],
        )
        """Writes comments. ``comments`` reads them."""
        self.comments = CommentRepository(table, self.statistics, self.maintenance, self.writer)
        self.background: Sequence[DeferredWork] = [self.boards, self.folds]
        """Work that the server starts, and does outside requests."""
        self.moderation = ModerationRepository(table, self.writer)
        self.reports = ReportRepository(table, self.writer)
        self.votes = VoteRepository(table, self.folds)
        self.leaderboard = LeaderboardRepository(table)
        self.groups = GroupRepository(table)
        self.products = ProductRepository(table, groups=self.groups)
        self.orders = OrderRepository(table, delivered)
        self.invitations = InvitationRepository(table, self.orders)
        self.users = UserRepository(table)
        self.standings = StandingRepository(table, variants=self.groups)
        self.blocks = BlockRepository(table, self.standings)
        self.organizations = OrganizationRepository(table)
        self.tickets = TicketRepository(table)
        self.markers = MarkerRepository(table)
        self.documents = DocumentRepository(table)

    @property
    def writes(self) -> int:
        """The number of this process's successful write requests: see ``Table.writes``."""
        return self.table.writes
