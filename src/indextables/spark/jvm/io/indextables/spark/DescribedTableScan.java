package io.indextables.spark;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.util.List;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.Type;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A {@link LocalTableScanExec} whose line in a plan ends in a description. It must be a subclass, since Spark and Connect
 * decide by the class that no job is needed. The parameters of the constructor differ between releases of Spark, so the
 * subclass is generated at run time. This class is public so that the generated one can call it.
 */
public final class DescribedTableScan {
  private static final TreeNodeTag<String> DESCRIPTION = new TreeNodeTag<>("indextables.description");
  private static final String SELF = Type.getInternalName(DescribedTableScan.class);
  private static final String SPARK = Type.getInternalName(LocalTableScanExec.class);
  /** The class is in our package, and its name makes plans show the name of Spark's node. */
  private static final String MADE = SELF.substring(0, SELF.lastIndexOf('/') + 1) + "LocalTableScanExec";
  private static final Constructor<?> CONSTRUCTOR = constructor();

  private DescribedTableScan() {}

  static SparkPlan of(LocalTableScanExec scan, String description) {
    try {
      Object[] arguments = CollectionConverters.asJava(scan.productIterator().toList()).toArray();
      SparkPlan described = (SparkPlan) CONSTRUCTOR.newInstance(arguments);
      described.copyTagsFrom(scan);
      described.setTagValue(DESCRIPTION, description); // a tag, since Spark copies plans
      return described;
    } catch (ReflectiveOperationException e) {
      return scan; // EXPLAIN shows less, and the rows are the same
    }
  }

  /** Returns the {@code stringArgs} of the generated class. */
  public static Iterator<Object> described(LocalTableScanExec scan, Iterator<Object> arguments) {
    List<Object> all = new java.util.ArrayList<>();
    CollectionConverters.asJava(arguments).forEachRemaining(all::add);
    if (scan.getTagValue(DESCRIPTION).isDefined()) {
      all.add(scan.getTagValue(DESCRIPTION).get());
    }
    return CollectionConverters.asScala(all.iterator());
  }

  private static Constructor<?> constructor() {
    try {
      Constructor<?> spark = LocalTableScanExec.class.getConstructors()[0];
      return MethodHandles.lookup().defineClass(subclass(spark)).getConstructor(spark.getParameterTypes());
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static byte[] subclass(Constructor<?> spark) {
    ClassWriter made = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    made.visit(Opcodes.V1_8, Opcodes.ACC_PUBLIC | Opcodes.ACC_SUPER, MADE, null, SPARK, null);
    String signature = Type.getConstructorDescriptor(spark);
    MethodVisitor constructor = made.visitMethod(Opcodes.ACC_PUBLIC, "<init>", signature, null, null);
    constructor.visitCode();
    constructor.visitVarInsn(Opcodes.ALOAD, 0);
    int slot = 1;
    for (Type parameter : Type.getArgumentTypes(signature)) {
      constructor.visitVarInsn(parameter.getOpcode(Opcodes.ILOAD), slot);
      slot += parameter.getSize();
    }
    constructor.visitMethodInsn(Opcodes.INVOKESPECIAL, SPARK, "<init>", signature, false);
    constructor.visitInsn(Opcodes.RETURN);
    constructor.visitMaxs(0, 0);
    constructor.visitEnd();
    String iterator = Type.getDescriptor(Iterator.class);
    MethodVisitor arguments = made.visitMethod(Opcodes.ACC_PUBLIC, "stringArgs", "()" + iterator, null, null);
    arguments.visitCode();
    arguments.visitVarInsn(Opcodes.ALOAD, 0);
    arguments.visitVarInsn(Opcodes.ALOAD, 0);
    arguments.visitMethodInsn(Opcodes.INVOKESPECIAL, SPARK, "stringArgs", "()" + iterator, false);
    String described = "(" + Type.getObjectType(SPARK).getDescriptor() + iterator + ")" + iterator;
    arguments.visitMethodInsn(Opcodes.INVOKESTATIC, SELF, "described", described, false);
    arguments.visitInsn(Opcodes.ARETURN);
    arguments.visitMaxs(0, 0);
    arguments.visitEnd();
    made.visitEnd();
    return made.toByteArray();
  }
}
