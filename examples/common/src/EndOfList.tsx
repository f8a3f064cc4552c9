import { useCallback, useEffect, useRef, useState } from "react";
import { Failed } from "./errors";

/**
 * The end of a list. Requests the next page when the user scrolls near the end.
 *
 * `onMore` resolves to the message of an error, or to nothing. After an error, only the button
 * "Try again" requests the page: if scrolling did, a server that is down would get requests
 * without end. Each list needs its own `key`, because an error belongs to one list. Until the first
 * page is loaded (`isLoaded`), the element says and requests nothing.
 */
export function EndOfList(props: {
  isLoaded: boolean;
  hasMore: boolean;
  onMore: () => Promise<string | undefined>;
}) {
  const { isLoaded, hasMore, onMore } = props;
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<string>();
  const place = useRef<HTMLParagraphElement>(null);
  const waiting = isLoaded && hasMore && !isLoading && error === undefined;

  const request = useCallback(async () => {
    setLoading(true);
    setError(await onMore());
    setLoading(false);
  }, [onMore]);

  useEffect(() => {
    if (!waiting || place.current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => entry?.isIntersecting && void request(),
      { rootMargin: "600px" },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [waiting, request]);

  if (error !== undefined && !isLoading) {
    return <Failed message={error} onRetry={() => void request()} />;
  }
  return (
    <p className="end" ref={place} role="status">
      {isLoaded && (hasMore ? "More comments are coming …" : "These were all comments.")}
    </p>
  );
}
