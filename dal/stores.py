"""The repositories over one table."""

from dal.client.table import Table
from dal.repositories.comments import CommentRepository
from dal.repositories.documents import DocumentRepository, MarkerRepository
from dal.repositories.leaderboard import LeaderboardRepository
from dal.repositories.orders import OrderRepository
from dal.repositories.organizations import OrganizationRepository
from dal.repositories.products import ProductRepository
from dal.repositories.tickets import TicketRepository
from dal.repositories.users import UserRepository
from dal.statistics.boards import Boards
from dal.statistics.comment_changes import CommentObserver


class Stores:
    """What resolvers read and write through; ``observer`` is told of all writes of comments."""

    def __init__(self, table: Table, observer: CommentObserver | None = None) -> None:
        self.boards = Boards(table)
        self.comments = CommentRepository(table, observer, self.boards)
        self.leaderboard = LeaderboardRepository(table)
        self.products = ProductRepository(table)
        self.orders = OrderRepository(table)
        self.users = UserRepository(table)
        self.organizations = OrganizationRepository(table)
        self.tickets = TicketRepository(table)
        self.markers = MarkerRepository(table)
        self.documents = DocumentRepository(table)
