"""What the benchmark of the tree needs beside itself."""
