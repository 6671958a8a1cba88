# Draws what `points_of_curves` prints as an SVG: a plot for each PLOT, with logarithmic axes.
# Variables: `ours` and `theirs`, the labels of the two servers.
BEGIN {
  FS = "|"
  width = 300; height = 190; left = 52; top = 56; gap_x = 66; gap_y = 78; columns = 3
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1116 552\" font-family=\"sans-serif\" font-size=\"12\">"
  print "<style>"
  print "svg { background: #fff } text { fill: #333 } .axis { stroke: #999; fill: none }"
  print ".grid { stroke: #ddd } .ours { stroke: #0b6e4f; fill: #0b6e4f } .theirs { stroke: #b5541c; fill: #b5541c }"
  print "polyline { fill: none !important; stroke-width: 2 } .title { font-weight: bold }"
  print "@media (prefers-color-scheme: dark) { svg { background: #161b22 } text { fill: #ddd }"
  print "  .grid { stroke: #333 } .ours { stroke: #4cc38a; fill: #4cc38a } .theirs { stroke: #f0883e; fill: #f0883e } }"
  print "</style>"
  print "<text x=\"" left "\" y=\"22\" class=\"title\" font-size=\"15\">Instructions of a server per call</text>"
  legend(left + 300, "ours", ours)
  legend(left + 390, "theirs", theirs)
}

function legend(x, class, name) {
  printf "<circle cx=\"%d\" cy=\"18\" r=\"4\" class=\"%s\"/><text x=\"%d\" y=\"22\">%s</text>\n", x, class, x + 9, name
}

!($1 in title) { order[++plots] = $1; title[$1] = $2 " (" $3 ")" }

{
  class = $4 ~ /^mcp/ ? "ours" : "theirs"
  key = $1 SUBSEP class
  count[key]++
  xs[key, count[key]] = $5
  ys[key, count[key]] = $6
  least_x[$1] = least(least_x[$1], $5); most_x[$1] = most(most_x[$1], $5)
  least_y[$1] = least(least_y[$1], $6); most_y[$1] = most(most_y[$1], $6)
}

function least(a, b) { return a == "" || b + 0 < a + 0 ? b : a }
function most(a, b) { return a == "" || b + 0 > a + 0 ? b : a }
function log10(n) { return log(n) / log(10) }
function floor(n) { return n < int(n) ? int(n) - 1 : int(n) }

# 1000 as 1 k, 1000000 as 1 M.
function short(power) {
  if (power >= 9) return 10 ^ (power - 9) " G"
  if (power >= 6) return 10 ^ (power - 6) " M"
  if (power >= 3) return 10 ^ (power - 3) " k"
  return 10 ^ power
}

END {
  for (p = 1; p <= plots; p++) draw(order[p], left + (p - 1) % columns * (width + gap_x), top + int((p - 1) / columns) * (height + gap_y))
  print "</svg>"
}

function draw(plot, x0, y0,    low_x, high_x, low_y, high_y, power, x, y, which, i, key, line, names) {
  low_x = floor(log10(least_x[plot])); high_x = ceiling(log10(most_x[plot]))
  low_y = floor(log10(least_y[plot])); high_y = ceiling(log10(most_y[plot]))
  # A flat curve is shown as flat.
  if (high_y - low_y < 2) high_y = low_y + 2
  printf "<text x=\"%d\" y=\"%d\" class=\"title\">%s</text>\n", x0, y0 - 8, title[plot]
  for (power = low_y; power <= high_y; power++) {
    y = y0 + height - (power - low_y) / (high_y - low_y) * height
    printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.0f\" y2=\"%.0f\" class=\"grid\"/>", x0, x0 + width, y, y
    printf "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", x0 - 6, y + 4, short(power)
  }
  for (power = low_x; power <= high_x; power++) {
    x = x0 + (power - low_x) / (high_x - low_x) * width
    printf "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, y0 + height + 17, short(power)
  }
  printf "<path d=\"M%d %dV%dH%d\" class=\"axis\"/>\n", x0, y0, y0 + height, x0 + width
  split("ours theirs", names, " ")
  for (which = 1; which <= 2; which++) {
    key = plot SUBSEP names[which]
    line = ""
    for (i = 1; i <= count[key]; i++) {
      x = x0 + (log10(xs[key, i]) - low_x) / (high_x - low_x) * width
      y = y0 + height - (log10(ys[key, i]) - low_y) / (high_y - low_y) * height
      line = line sprintf("%.1f,%.1f ", x, y)
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"%s\"/>", x, y, names[which]
    }
    if (line != "") printf "<polyline points=\"%s\" class=\"%s\"/>\n", line, names[which]
  }
}

function ceiling(n) { return n > floor(n) ? floor(n) + 1 : floor(n) }
