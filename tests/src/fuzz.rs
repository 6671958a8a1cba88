//! Functions behind the fuzz targets.
