package store

// EngineBucket is the bucket of what the engine notes for itself.
const EngineBucket = "engine"
