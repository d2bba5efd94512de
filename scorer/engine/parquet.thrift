/* What a Parquet footer says, as far as row groups are taken over from one file into another.

   After the field numbers and types of the format's specification (github.com/apache/parquet-format).
   Left out, and so dropped from what is taken over: encryption, page indexes, Bloom filters, size
   statistics. None of them is needed to read a file. */

enum Type {
  BOOLEAN = 0, INT32 = 1, INT64 = 2, INT96 = 3, FLOAT = 4, DOUBLE = 5, BYTE_ARRAY = 6,
  FIXED_LEN_BYTE_ARRAY = 7
}

enum Encoding {
  PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, BIT_PACKED = 4, DELTA_BINARY_PACKED = 5,
  DELTA_LENGTH_BYTE_ARRAY = 6, DELTA_BYTE_ARRAY = 7, RLE_DICTIONARY = 8, BYTE_STREAM_SPLIT = 9
}

enum CompressionCodec {
  UNCOMPRESSED = 0, SNAPPY = 1, GZIP = 2, LZO = 3, BROTLI = 4, LZ4 = 5, ZSTD = 6, LZ4_RAW = 7
}

struct Empty {}

struct DecimalType { 1: required i32 scale, 2: required i32 precision }

union TimeUnit { 1: Empty MILLIS, 2: Empty MICROS, 3: Empty NANOS }

struct TimeType { 1: required bool isAdjustedToUTC, 2: required TimeUnit unit }

struct IntType { 1: required byte bitWidth, 2: required bool isSigned }

union LogicalType {
  1: Empty STRING, 2: Empty MAP, 3: Empty LIST, 4: Empty ENUM, 5: DecimalType DECIMAL, 6: Empty DATE,
  7: TimeType TIME, 8: TimeType TIMESTAMP, 10: IntType INTEGER, 11: Empty UNKNOWN, 12: Empty JSON,
  13: Empty BSON, 14: Empty UUID, 15: Empty FLOAT16
}

struct SchemaElement {
  1: optional i32 type, 2: optional i32 type_length, 3: optional i32 repetition_type,
  4: required string name, 5: optional i32 num_children, 6: optional i32 converted_type,
  7: optional i32 scale, 8: optional i32 precision, 9: optional i32 field_id,
  10: optional LogicalType logicalType
}

struct Statistics {
  1: optional binary max, 2: optional binary min, 3: optional i64 null_count,
  4: optional i64 distinct_count, 5: optional binary max_value, 6: optional binary min_value,
  7: optional bool is_max_value_exact, 8: optional bool is_min_value_exact
}

struct KeyValue { 1: required string key, 2: optional string value }

struct ColumnMetaData {
  1: required i32 type, 2: required list<i32> encodings, 3: required list<string> path_in_schema,
  4: required i32 codec, 5: required i64 num_values, 6: required i64 total_uncompressed_size,
  7: required i64 total_compressed_size, 8: optional list<KeyValue> key_value_metadata,
  9: required i64 data_page_offset, 10: optional i64 index_page_offset,
  11: optional i64 dictionary_page_offset, 12: optional Statistics statistics
}

struct ColumnChunk {
  1: optional string file_path, 2: required i64 file_offset, 3: optional ColumnMetaData meta_data
}

struct RowGroup {
  1: required list<ColumnChunk> columns, 2: required i64 total_byte_size, 3: required i64 num_rows,
  5: optional i64 file_offset, 6: optional i64 total_compressed_size, 7: optional i16 ordinal
}

union ColumnOrder { 1: Empty TYPE_ORDER }

struct FileMetaData {
  1: required i32 version, 2: required list<SchemaElement> schema, 3: required i64 num_rows,
  4: required list<RowGroup> row_groups, 5: optional list<KeyValue> key_value_metadata,
  6: optional string created_by, 7: optional list<ColumnOrder> column_orders
}
