export { CommentCard } from "./CommentCard";
export { CommentForm, type Draft, type Fault, Faults } from "./CommentForm";
export { EndOfList } from "./EndOfList";
export { Failed, sentence } from "./errors";
export { EVERYTHING, type Filter, passes, placeOf } from "./filter";
export { Filters } from "./Filters";
export { useLast, withEdge } from "./lists";
export { Page, Summary } from "./Page";
export { API, authorization, PRODUCT_ID, useJwt, type Viewer } from "./session";
