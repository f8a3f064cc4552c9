import { useEffect, useRef } from "react";

/** The end of a list. Requests the next page when the user scrolls near the end. */
export function EndOfList(props: { hasMore: boolean; isLoading: boolean; onMore: () => void }) {
  const { hasMore, isLoading, onMore } = props;
  const place = useRef<HTMLParagraphElement>(null);
  const waiting = hasMore && !isLoading;

  useEffect(() => {
    if (!waiting || place.current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => entry?.isIntersecting && onMore(),
      { rootMargin: "600px" },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [waiting, onMore]);

  return (
    <p className="end" ref={place} role="status">
      {hasMore ? "More comments are coming …" : "These were all comments."}
    </p>
  );
}
