# Counts the allocations in a file of callgrind: calls of `malloc` and its like by any function. A name
# follows its number in parentheses only where it first occurs.
/^c?fn=/ {
  called = $1
  is_called = sub(/^cfn=/, "", called)
  sub(/^fn=/, "", called)
  if (NF > 1) name[called] = $2
  if (!is_called) called = ""
}
/^calls=/ && name[called] ~ /^(malloc|calloc|realloc|posix_memalign|aligned_alloc)$/ {
  count += substr($1, 7)
}
END { print count + 0 }
