type Comment = {
  id: string;
  title: string;
  text: string;
  rating: number;
  language: string;
  createdAt: string;
  verifiedPurchase: boolean;
  authorName: string;
};

/** One comment. `onDelete` is set if the user may delete it. */
export function CommentCard({ comment, onDelete }: { comment: Comment; onDelete?: () => void }) {
  const { rating, language, authorName } = comment;
  return (
    <article data-id={comment.id}>
      <header>
        <span className="stars" role="img" aria-label={`${rating} of 5`}>
          {"★".repeat(rating)}
          <i>{"★".repeat(5 - rating)}</i>
        </span>
        {comment.title && (
          <h3 lang={language} dir="auto">
            {comment.title}
          </h3>
        )}
      </header>
      {comment.text && (
        <p lang={language} dir="auto">
          {comment.text}
        </p>
      )}
      <footer>
        {authorName} · <time dateTime={comment.createdAt}>{day(comment.createdAt)}</time> · {language}
        {comment.verifiedPurchase && " · verified purchase"}
        {onDelete && (
          <button type="button" onClick={onDelete}>
            Delete
          </button>
        )}
      </footer>
    </article>
  );
}

function day(instant: string): string {
  return new Date(instant).toLocaleDateString("en", { dateStyle: "medium" });
}
