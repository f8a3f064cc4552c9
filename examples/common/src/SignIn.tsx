import { setJwt, useJwt, type Viewer } from "./session";

/** The signed-in user as returned by the API, or a field for a JWT. */
export function SignIn({ viewer }: { viewer: Viewer | null }) {
  if (useJwt() !== null) {
    return (
      <p className="session">
        {viewer && (
          <span>
            Signed in as <b>{viewer.name}</b>
          </span>
        )}
        <button type="button" onClick={() => setJwt(null)}>
          Sign out
        </button>
      </p>
    );
  }
  return (
    <form
      className="session"
      action={(data: FormData) => setJwt(String(data.get("jwt")).trim() || null)}
    >
      <input name="jwt" placeholder="Paste a JWT" aria-label="JWT" required />
      <button>Sign in</button>
    </form>
  );
}
